// codex CLI: `codex exec --output-schema` over SSE and over a WebSocket.
import { execFile } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { main, token, url } from "./ways.mjs";

const codex = process.env.CLIENTS_NODE_HOME + "/node_modules/@openai/codex/bin/codex.js";
const schema = {
  type: "object",
  properties: { city: { type: "string" }, n: { type: "integer" } },
  required: ["city", "n"],
  additionalProperties: false,
};
writeFileSync("schema.json", JSON.stringify(schema));

const asked = (sockets) => async (model) => {
  const home = `${process.cwd()}/codex-${sockets ? "ws" : "sse"}-${model}`;
  mkdirSync(home);
  const config = [
    'model_provider = "gateway"',
    "[model_providers.gateway]",
    'name = "gateway"',
    `base_url = "${url}"`,
    'wire_api = "responses"',
    'env_key = "GATEWAY_TOKEN"',
    `supports_websockets = ${sockets}`,
    "request_max_retries = 0",
    "stream_max_retries = 0",
  ];
  writeFileSync(`${home}/config.toml`, config.join("\n"));
  const last = `${home}/last.json`;
  const args = [codex, "exec", "--skip-git-repo-check", "--ephemeral", "-m", model,
    "--output-schema", "schema.json", "-o", last, "Where is the Beethoven house?"];
  const env = { ...process.env, CODEX_HOME: home, GATEWAY_TOKEN: token };
  await new Promise((done, fail) => {
    const options = { env, timeout: 120_000, maxBuffer: 1 << 26 };
    const child = execFile(process.execPath, args, options, (error, out, err) => {
      writeFileSync(`${home}/log.txt`, out + err);
      error ? fail(new Error(out + err)) : done();
    });
    child.stdin.end();
  });
  return readFileSync(last, "utf8");
};

await main({ sse: asked(false), websocket: asked(true) });
