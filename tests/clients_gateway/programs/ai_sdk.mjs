// AI SDK: objects, whole and streamed, through three providers of models.
import { ASK, City, load, main, token, url } from "./ways.mjs";

const { Output, generateText, streamText } = await load("ai");
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

await main({
  "openai.chat": whole(openai.chat),
  "openai.chat.stream": streamed(openai.chat),
  "openai.responses": whole(openai.responses),
  "openai.responses.stream": streamed(openai.responses),
  "compatible.chat": whole(compatible),
  "compatible.chat.stream": streamed(compatible),
  "open-responses": whole(open),
  "open-responses.stream": streamed(open),
});
