// AI SDK: objects, whole and streamed, through three providers of models.
import { ASK, City, load, main, token, url, z } from "./ways.mjs";

const { Output, generateText, isStepCount, stepCountIs, streamText, tool } = await load("ai");
const { createOpenAI } = await load("@ai-sdk/openai");
const { createOpenAICompatible } = await load("@ai-sdk/openai-compatible");
const { createOpenResponses } = await load("@ai-sdk/open-responses");
const openai = createOpenAI({ baseURL: url, apiKey: token });
const compatible = createOpenAICompatible({
  name: "gateway", baseURL: url, apiKey: token, supportsStructuredOutputs: true,
});
const open = createOpenResponses({ name: "gateway", url: `${url}/responses`, apiKey: token });
const asked = { prompt: ASK, maxRetries: 0, output: Output.object({ schema: City }) };

const whole = (of) => async (model) => (await generateText({ model: of(model), ...asked })).output;
const streamed = (of) => async (model) => {
  let failure;
  const stream = streamText({
    model: of(model), ...asked, onError: ({ error }) => { failure = error; },
  });
  for await (const _ of stream.textStream);
  if (failure) throw failure;
  return await stream.output;
};

const withATool = (of) => async (model) => {
  const looked = [];
  const lookUp = tool({
    description: "Look a place up.",
    inputSchema: z.object({ place: z.string() }),
    execute: async ({ place }) => { looked.push(place); return "three floors"; },
  });
  const stopWhen = (isStepCount ?? stepCountIs)(5);
  const done = await generateText({ model: of(model), ...asked, tools: { lookUp }, stopWhen });
  return { ...done.output, looked: looked.join() };
};

await main({
  "openai.chat": whole(openai.chat),
  "openai.chat.stream": streamed(openai.chat),
  "openai.responses": whole(openai.responses),
  "openai.responses.stream": streamed(openai.responses),
  "compatible.chat": whole(compatible),
  "compatible.chat.stream": streamed(compatible),
  "open-responses": whole(open),
  "open-responses.stream": streamed(open),
  "tools.openai.chat": withATool(openai.chat),
  "tools.openai.responses": withATool(openai.responses),
  "tools.compatible.chat": withATool(compatible),
  "tools.open-responses": withATool(open),
});
