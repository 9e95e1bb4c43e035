# ruff: noqa: B007, B905, E401, E731, I001, PTH123, RUF007, SIM115, T201
# mypy: ignore-errors
"""Make a tiny but well-behaved GGUF: a bigram language model written straight into llama-architecture weights
(one-hot embeddings, output matrix = bigram log-odds) plus one attention head that looks up a control token
which the chat template puts into the last message.  ~2 MB, no download.  One file gives plain text, fenced JSON,
single-quoted prose JSON, tool calls, reasoning, endless text; grammars (json_schema) are honoured by the sampler."""

import sys, numpy as np, gguf

OUT = sys.argv[1] if len(sys.argv) > 1 else "tiny.gguf"
toks, types = [], []
T = gguf.TokenType


def add(s, t=T.NORMAL):
    toks.append(s)
    types.append(t)
    return len(toks) - 1


UNK = add("<unk>", T.UNKNOWN)
BOS = add("<s>", T.CONTROL)
EOS = add("</s>", T.CONTROL)
IMS = add("<|im_start|>", T.CONTROL)
IME = add("<|im_end|>", T.CONTROL)
TC = add("<tool_call>", T.USER_DEFINED)
TCE = add("</tool_call>", T.USER_DEFINED)
CTL = {
    n: add(f"<|ctl_{n}|>", T.CONTROL) for n in ("text", "json", "tool", "long", "think", "prose")
}
THINK = add("<think>", T.USER_DEFINED)
THINKE = add("</think>", T.USER_DEFINED)
B = {b: add(f"<0x{b:02X}>", T.BYTE) for b in range(256)}


def ch(c):
    return B[ord(c)]


SP = "\u2581"
chains = {
    "text": ["Hello", SP + "from", SP + "a", SP + "tiny", SP + "real", SP + "model", "."],
    "json": ["```json\n", '{"answer":', SP + '"forty-two",', SP + '"score":', SP + "0.5}", "\n```"],
    "prose": [
        "Sure,",
        SP + "the",
        SP + "result",
        SP + "follows:",
        SP + "{'answer':",
        SP + "'single",
        SP + "quotes',}",
    ],
    "long": ["count", SP + "one", SP + "two", SP + "three"],
    "think": ["I", SP + "ponder", SP + "quietly"],
}
ids = {}
for c in chains.values():
    for w in c:
        if w not in ids:
            ids[w] = add(w)
# plain printable single characters as NORMAL tokens would duplicate the byte tokens; bytes are enough.
V = len(toks)
NE = 512
assert V <= NE, V
logit = np.full((V, V), -6.0, np.float32)  # [next, prev] log-odds
ctrl = [UNK, BOS, IMS, *CTL.values(), TC, TCE, THINK, THINKE]
logit[ctrl, :] = -30
for b, i in B.items():
    logit[i, :] = -30 if (b < 32 and b not in (9, 10)) or b > 126 else -5
logit[B[10], :] = -12
logit[B[9], :] = -20
for c in "abcdefghijklmnopqrstuvwxyz":
    logit[ch(c), :] = -2
for c in "0123456789":
    logit[ch(c), :] = -1
logit[ch('"'), :] = 1
logit[ch(","), :] = 0
logit[ch("}"), :] = 0.5
logit[ch("]"), :] = 1
logit[ch(" "), :] = -3
logit[[IME, EOS], :] = 0.8
# inside JSON strings: quote -> o -> k -> quote ; digits stop after one
logit[ch("o"), ch('"')] = 12
logit[ch("k"), ch("o")] = 12
logit[ch('"'), ch("k")] = 12
for d in "0123456789":
    for e in "0123456789":
        logit[ch(e), ch(d)] = -4
    logit[ch("."), ch(d)] = -8
    logit[ch("e"), ch(d)] = -8
    logit[ch("E"), ch(d)] = -8
logit[ch("7"), :] = np.maximum(logit[ch("7"), :], 0)
logit[ch("7"), [ch(d) for d in "0123456789"]] = -4


def chain(start, words, end):
    seq = [start] + [ids[w] for w in words] + ([end] if end is not None else [])
    for a, b in zip(seq, seq[1:]):
        logit[b, a] = 14


for n in ("text", "json", "prose"):
    chain(ids[chains[n][0]], chains[n][1:], IME)
chain(ids["count"], chains["long"][1:], ids["count"])  # never ends: length stop
chain(THINK, chains["think"], THINKE)
chain(THINKE, chains["text"], IME)
logit[IME, TCE] = 14
logit[TC, TCE] = -30
logit[B[10], TC] = 14
logit[IME, ch(">")] = 13
logit[TCE, ch("}")] = 13
logit[ch("<"), ch("}")] = 10
first = {
    "text": ids["Hello"],
    "json": ids["```json\n"],
    "prose": ids["Sure,"],
    "long": ids["count"],
    "think": THINK,
    "tool": TC,
}
logit[list(first.values()), ch("\n")] = (
    4  # +8 from the control token = 12: clear winner even at temperature 1
)
S2 = np.sqrt(2.0)

w = gguf.GGUFWriter(OUT, "llama")
w.add_name("tiny-bigram")
w.add_context_length(32768)
w.add_embedding_length(NE)
w.add_block_count(1)
w.add_feed_forward_length(32)
w.add_head_count(8)
w.add_head_count_kv(1)
w.add_layer_norm_rms_eps(1e-6)
w.add_rope_dimension_count(64)
w.add_rope_freq_base(1e12)
w.add_vocab_size(V)
w.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
w.add_tokenizer_model("llama")
w.add_token_list([t.encode() for t in toks])
w.add_token_scores([0.0 if t != T.NORMAL else -float(i) for i, t in enumerate(types)])
w.add_token_types([int(t) for t in types])
w.add_bos_token_id(BOS)
w.add_eos_token_id(IME)
w.add_unk_token_id(UNK)
w.add_pad_token_id(EOS)
w.add_add_bos_token(False)
w.add_add_space_prefix(False)
w.add_chat_template(open(__file__.replace("mk_tiny_gguf.py", "tiny.jinja")).read())
rs = np.sqrt(NE)  # RMSNorm turns a one-hot row into rs * one-hot
emb = np.zeros((V, NE), np.float16)
for i in range(V):
    emb[i, i] = 1.0
outw = np.zeros((V, NE), np.float16)
outw[:, :V] = (logit * S2 / rs).astype(np.float16)
for j, (n, t) in enumerate(CTL.items()):
    outw[first[n], V + j] = 8 * S2 / rs  # control -> first word bias
w.add_tensor("token_embd.weight", emb)
w.add_tensor("output.weight", outw)
w.add_tensor("output_norm.weight", np.ones(NE, np.float32))
p = "blk.0."
w.add_tensor(p + "attn_norm.weight", np.ones(NE, np.float32))
w.add_tensor(p + "ffn_norm.weight", np.ones(NE, np.float32))
z = lambda a, b: np.zeros((a, b), np.float16)
q, k, v, o = z(NE, NE), z(64, NE), z(64, NE), z(NE, NE)
q[62, :V] = 30 / rs  # head 0: every token asks for the control token; pair (62,63) does not rotate
for j, t in enumerate(CTL.values()):
    k[62, t] = 10 / rs
    v[j, t] = 1 / rs
    o[V + j, j] = 1
w.add_tensor(p + "attn_q.weight", q)
w.add_tensor(p + "attn_k.weight", k)
w.add_tensor(p + "attn_v.weight", v)
w.add_tensor(p + "attn_output.weight", o)
w.add_tensor(p + "ffn_gate.weight", z(32, NE))
w.add_tensor(p + "ffn_up.weight", z(32, NE))
w.add_tensor(p + "ffn_down.weight", z(NE, 32))
w.write_header_to_file()
w.write_kv_data_to_file()
w.write_tensors_to_file()
w.close()
print(OUT, "vocab", V)
