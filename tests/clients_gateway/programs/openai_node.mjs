// openai (npm): chat and responses, parsed and streamed.
import { ASK, City, MESSAGES, load, main, token, url } from "./ways.mjs";

const { default: OpenAI } = await load("openai");
const { zodResponseFormat, zodTextFormat } = await load("openai/helpers/zod");
const client = new OpenAI({ baseURL: url, apiKey: token, maxRetries: 0 });
const response_format = zodResponseFormat(City, "city");
const text = { format: zodTextFormat(City, "city") };

await main({
  "chat.parse": async (model) => {
    const done = await client.chat.completions.parse({ model, messages: MESSAGES, response_format });
    return done.choices[0].message.parsed;
  },
  "chat.stream": async (model) => {
    const stream = client.chat.completions.stream({ model, messages: MESSAGES, response_format });
    return (await stream.finalChatCompletion()).choices[0].message.parsed;
  },
  "chat.chunks": async (model) => {
    const stream = await client.chat.completions.create({
      model, messages: MESSAGES, response_format, stream: true,
    });
    let said = "";
    for await (const chunk of stream) said += chunk.choices[0]?.delta?.content ?? "";
    return said;
  },
  "responses.parse": async (model) =>
    (await client.responses.parse({ model, input: ASK, text })).output_parsed,
  "responses.stream": async (model) => {
    const stream = client.responses.stream({ model, input: ASK, text });
    return (await stream.finalResponse()).output_parsed;
  },
  "responses.events": async (model) => {
    const stream = await client.responses.create({ model, input: ASK, text, stream: true });
    let said = "";
    for await (const event of stream)
      if (event.type === "response.output_text.delta") said += event.delta;
    return said;
  },
});
