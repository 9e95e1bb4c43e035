"""The status page's stylesheet: light and dark, from phones to wide screens, no script, no font."""

from __future__ import annotations

import hashlib

STYLESHEET = """\
:root{color-scheme:light dark;--bg:#f5f6f8;--card:#fff;--ink:#15181e;--dim:#596273;--line:#e2e6ec;
--soft:#eef1f5;--accent:#3b5bdb;--good:#137a45;--goodbg:#e2f4ea;--warn:#8a5200;--warnbg:#fdf0d9;
--bad:#b42318;--badbg:#fde8e6}
@media(prefers-color-scheme:dark){:root{--bg:#0e1116;--card:#161b22;--ink:#e7eaf0;--dim:#9aa4b4;
--line:#28303b;--soft:#1d242d;--accent:#7f9cff;--good:#5fd39a;--goodbg:#12301f;--warn:#f0b65a;
--warnbg:#33260f;--bad:#ff8f84;--badbg:#3a1714}}
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",
Roboto,"Helvetica Neue",Arial,sans-serif;font-variant-numeric:tabular-nums}
header,main,footer{max-width:1120px;margin:0 auto;padding:0 20px}
header{display:flex;flex-wrap:wrap;align-items:center;gap:8px 14px;padding-top:26px;padding-bottom:18px}
h1{font-size:21px;letter-spacing:-.01em;margin:0;font-weight:650}
h2{font-size:16px;margin:0 0 12px;font-weight:620}
h3{font-size:15px;margin:0;font-weight:600;overflow-wrap:anywhere}
p{margin:0}
a{color:var(--accent)}
.about{color:var(--dim);font-size:13px;margin-left:auto;display:flex;flex-wrap:wrap;gap:4px 16px}
.pill{display:inline-block;border-radius:999px;padding:2px 10px;font-size:12.5px;font-weight:600;
background:var(--soft);color:var(--dim);white-space:nowrap}
.pill.good{background:var(--goodbg);color:var(--good)}
.pill.warn{background:var(--warnbg);color:var(--warn)}
.pill.bad{background:var(--badbg);color:var(--bad)}
.note{background:var(--goodbg);color:var(--good);border-radius:10px;padding:10px 14px;margin:0 0 16px;
font-weight:550}
.tiles{display:grid;grid-template-columns:repeat(8,1fr);gap:1px;
background:var(--line);border:1px solid var(--line);border-radius:12px;overflow:hidden;margin:0 0 16px}
.tile{background:var(--card);padding:14px 16px;display:flex;flex-direction:column;
justify-content:space-between}
.tile dt{color:var(--dim);font-size:12.5px}
.tile dd{margin:2px 0 0;font-size:24px;line-height:1.2;font-weight:620;letter-spacing:-.01em}
.tile.bad dd{color:var(--bad)}
dl{margin:0}
.two{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,420px),1fr));gap:16px}
.card{background:var(--card);border:1px solid var(--line);border-radius:12px;padding:18px 20px;
margin:0 0 16px;min-width:0}
.card>.sub{color:var(--dim);font-size:13px;margin:-8px 0 14px}
.two>.card{margin:0;display:flex;flex-direction:column}
.two>.card>.chart{flex:1 0 112px}
.two{margin:0 0 16px}
.chart{display:block;width:100%;height:112px}
.bar{fill:var(--accent)}.bar.bad{fill:var(--bad)}.base{fill:var(--line)}
.axis{display:flex;justify-content:space-between;color:var(--dim);font-size:12px;margin-top:6px}
.axis.each span{flex:1;text-align:center;min-width:0;white-space:nowrap}
.axis.each span{display:flex;justify-content:center}
.axis.each span:nth-child(even){visibility:hidden}
table{border-collapse:collapse;width:100%}
th{color:var(--dim);font-size:12.5px;font-weight:550;text-align:left;padding:0 14px 8px 0}
td{border-top:1px solid var(--line);padding:11px 14px 11px 0;vertical-align:top}
th:last-child,td:last-child{padding-right:0}
td.num,th.num{text-align:right;white-space:nowrap}
.quantiles{margin-top:16px;font-size:13.5px}
.quantiles td{padding-top:6px;padding-bottom:6px}
.memo th:first-child{width:27%}.memo th:nth-child(3){width:30%}
.stack td{font-size:14px}
td.act{padding-top:7px;text-align:right}
.who{font-weight:600;overflow-wrap:anywhere}
.dim{color:var(--dim);font-size:13px;overflow-wrap:anywhere}
.evidence{margin:0;overflow-wrap:anywhere;max-width:52ch}
.evidence::before{content:"\\201c"}.evidence::after{content:"\\201d"}
.when{white-space:nowrap}
button{font:inherit;font-size:13.5px;font-weight:550;color:var(--bad);background:transparent;
border:1px solid var(--line);border-radius:8px;padding:5px 12px;cursor:pointer}
button:hover{background:var(--badbg);border-color:var(--bad)}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.chains{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,320px),1fr));gap:14px}
.chain{border:1px solid var(--line);border-radius:10px;padding:14px 16px;min-width:0}
.chain ol{list-style:none;margin:10px 0 0;padding:0}
.chain li{padding:8px 0;border-top:1px solid var(--line)}
.row{display:flex;align-items:baseline;gap:10px;justify-content:space-between}
.row>:first-child{min-width:0;overflow-wrap:anywhere}
.serving{font-weight:600}
.serving::after{content:"serving";color:var(--dim);font-weight:400;font-size:12.5px;margin-left:8px}
.empty{color:var(--dim);padding:6px 0}
footer{color:var(--dim);font-size:13px;padding-top:6px;padding-bottom:36px;overflow-wrap:anywhere;
display:flex;flex-wrap:wrap;gap:4px 18px}
@media(max-width:1040px){.tiles{grid-template-columns:repeat(4,1fr)}}
@media(max-width:860px){
header,main,footer{padding-left:14px;padding-right:14px}
.about{margin-left:0;width:100%}
.card{padding:16px}
.axis.each span:not(:nth-child(4n+1)){visibility:hidden}
.memo th{width:auto}
.stack thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.stack tr{display:block;border-top:1px solid var(--line);padding:12px 0}
.stack tbody tr:first-child{border-top:0;padding-top:0}
.stack td{display:block;border:0;padding:3px 0;text-align:left}
.stack td.when,.stack td.num{display:inline-block;margin-right:18px}
.stack td[data-label]::before{content:attr(data-label) " ";color:var(--dim);font-size:13px}
.stack td.act{padding-top:8px}
.quantiles{font-size:12.5px}
.quantiles th,.quantiles td{padding-right:6px;white-space:normal}
.quantiles td.num{white-space:nowrap}
.pill{white-space:normal}
.row .pill{white-space:nowrap;flex:none}
}
@media(max-width:560px){
.tiles{grid-template-columns:repeat(2,1fr)}
.stack button{width:100%;padding:9px}
}
@media print{button{display:none}.card,.tiles{break-inside:avoid}}
"""

STYLE_PATH = f"/status-{hashlib.sha256(STYLESHEET.encode()).hexdigest()[:12]}.css"
"""Where the page asks for it; another text has another path, so it may be cached for ever."""
