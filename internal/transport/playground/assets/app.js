// The playground: one request by POST, or one subscription over
// graphql-transport-ws, at a time. Nothing is stored; a result is only ever put
// into the page as text.
"use strict";

const $ = (id) => document.getElementById(id);
const ui = Object.fromEntries(
  ["token", "reveal", "examples", "about", "query", "variables", "operation", "run", "stop", "status", "copy", "clear", "errors", "results"]
    .map((id) => [id, $(id)]));

// More events than this are not kept on the page: a log can run for days.
const MAX_EVENTS = 500;

let endpoint = "/graphql";
let stopRunning = null;
let lastText = "";

// --- what is in the editor ---

// operations lists the operations of a document: [{kind, name}]. It reads just
// enough of the syntax to skip strings, comments and whatever is in braces.
function operations(text) {
  const found = [];
  const tokens = text.matchAll(/"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*|[{}()]|[A-Za-z_]\w*/g);
  let depth = 0, head = null, words = 0;
  for (const [token] of tokens) {
    if (token[0] === "#" || token[0] === '"') continue;
    if (token === "{" || token === "(") {
      if (depth === 0 && token === "{") {
        if (head === null) found.push({ kind: "query", name: "" });
        head = null;
      }
      depth++;
    } else if (token === "}" || token === ")") {
      depth--;
    } else if (depth === 0) {
      if (head === null) {
        head = { kind: token, name: "" };
        words = 0;
        if (["query", "mutation", "subscription"].includes(token)) found.push(head);
      } else if (words++ === 0) {
        head.name = token;
      }
    }
  }
  return found;
}

function showOperations() {
  const named = operations(ui.query.value).filter((op) => op.name);
  const before = ui.operation.value;
  ui.operation.replaceChildren(...named.map((op) => new Option(`${op.kind} ${op.name}`, op.name)));
  if (named.some((op) => op.name === before)) ui.operation.value = before;
  ui.operation.hidden = named.length < 2;
}

// request reads the fields; it throws a message for a person.
function request() {
  let variables;
  const text = ui.variables.value.trim();
  if (text) {
    try { variables = JSON.parse(text); } catch (error) { throw new Error(`The variables are not valid JSON: ${error.message}`); }
  }
  const all = operations(ui.query.value);
  const chosen = ui.operation.hidden ? all[0] : all.find((op) => op.name === ui.operation.value);
  if (!chosen) throw new Error("There is no operation in the editor.");
  const body = { query: ui.query.value };
  if (variables !== undefined) body.variables = variables;
  if (all.length > 1 && chosen.name) body.operationName = chosen.name;
  return { kind: chosen.kind, body };
}

// --- what is shown ---

function status(text, kind) {
  ui.status.textContent = text;
  ui.status.className = kind || "";
}

// paint makes a <pre> with coloured JSON, made of text nodes only.
function paint(value) {
  const pre = document.createElement("pre");
  const text = JSON.stringify(value, null, 2);
  const pattern = /("(?:\\.|[^"\\])*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/g;
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    pre.append(text.slice(at, match.index));
    const span = document.createElement("span");
    span.className = match[1] ? (match[2] ? "key" : "string") : /^[tfn]/.test(match[0]) ? "word" : "number";
    span.textContent = match[1] || match[0];
    pre.append(span, match[2] || "");
    at = match.index + match[0].length;
  }
  pre.append(text.slice(at));
  return pre;
}

function showErrors(errors) {
  ui.errors.replaceChildren(...errors.map((error) => {
    const box = document.createElement("div");
    box.className = "problem";
    const add = (tag, text) => text && box.append(Object.assign(document.createElement(tag), { textContent: text }));
    add("b", error.extensions && error.extensions.code);
    box.append(error.message || String(error));
    const where = (error.locations || []).map((l) => `line ${l.line}, column ${l.column}`).join("; ");
    add("span", [where, error.path && `at ${error.path.join(".")}`, error.extensions && error.extensions.requestId && `request ${error.extensions.requestId}`].filter(Boolean).join(" · "));
    return box;
  }));
  ui.errors.hidden = errors.length === 0;
}

function begin() {
  showErrors([]);
  ui.results.replaceChildren();
  ui.copy.hidden = ui.clear.hidden = true;
  ui.run.disabled = true;
  ui.stop.disabled = false;
}

function finish() {
  stopRunning = null;
  ui.run.disabled = false;
  ui.stop.disabled = true;
}

function showResult(result) {
  lastText = JSON.stringify(result, null, 2);
  ui.results.replaceChildren(paint(result));
  ui.copy.hidden = false;
}

function showEvent(result) {
  const box = document.createElement("div");
  box.className = "event";
  const time = document.createElement("time");
  time.textContent = new Date().toISOString().slice(11, 23);
  box.append(time, paint(result));
  // Follow the stream, unless the reader has scrolled away from its end.
  const follow = ui.results.scrollHeight - ui.results.scrollTop - ui.results.clientHeight < 40;
  ui.results.append(box);
  while (ui.results.childElementCount > MAX_EVENTS) ui.results.firstElementChild.remove();
  if (follow) ui.results.scrollTop = ui.results.scrollHeight;
  lastText = JSON.stringify(result, null, 2);
  ui.copy.hidden = ui.clear.hidden = false;
}

// --- running ---

async function post(body) {
  const started = performance.now();
  const abort = new AbortController();
  stopRunning = () => abort.abort();
  status("Running …");
  try {
    const response = await fetch(endpoint, {
      method: "POST",
      headers: {
        "Content-Type": "application/json",
        Accept: "application/graphql-response+json, application/json;q=0.9",
        Authorization: `Bearer ${ui.token.value.trim()}`,
      },
      body: JSON.stringify(body),
      signal: abort.signal,
    });
    const text = await response.text();
    const took = `${Math.round(performance.now() - started)} ms · ${text.length.toLocaleString("en")} bytes`;
    let result;
    try { result = JSON.parse(text); } catch { throw new Error(`The server answered ${response.status} with something that is not JSON.`); }
    const errors = result.errors || [];
    status(`${response.status} · ${took}`, errors.length ? "bad" : "good");
    showErrors(errors);
    showResult(result);
  } catch (error) {
    if (error.name === "AbortError") { status("Stopped."); return; }
    status("No answer", "bad");
    showErrors([{ message: error instanceof TypeError ? "The server cannot be reached." : error.message }]);
  }
}

function subscribe(body) {
  return new Promise((resolve) => {
    const url = new URL(endpoint, location.href);
    url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
    const socket = new WebSocket(url, "graphql-transport-ws");
    const send = (message) => socket.send(JSON.stringify(message));
    let count = 0, ended = false;
    const end = (text, kind, errors) => {
      if (ended) return;
      ended = true;
      status(text, kind);
      if (errors) showErrors(errors);
      if (socket.readyState <= WebSocket.OPEN) socket.close(1000);
      resolve();
    };
    const events = () => `${count} event${count === 1 ? "" : "s"}`;
    status("Connecting …");
    stopRunning = () => {
      if (socket.readyState === WebSocket.OPEN) send({ id: "1", type: "complete" });
      end(`Stopped after ${events()}`);
    };
    socket.onopen = () => send({ type: "connection_init", payload: { authorization: `Bearer ${ui.token.value.trim()}` } });
    socket.onclose = (event) => end(`Closed (${event.code}) after ${events()}`, "bad",
      [{ message: event.reason || "The connection was closed.", extensions: { code: `CLOSE ${event.code}` } }]);
    socket.onmessage = ({ data }) => {
      const message = JSON.parse(data);
      switch (message.type) {
        case "connection_ack":
          send({ id: "1", type: "subscribe", payload: body });
          status("Waiting for events …");
          break;
        case "ping":
          send({ type: "pong" });
          break;
        case "next":
          count++;
          status(`Streaming · ${events()}`, "good");
          showErrors(message.payload.errors || []);
          showEvent(message.payload);
          break;
        case "error":
          end(`Ended with an error after ${events()}`, "bad", message.payload);
          break;
        case "complete":
          end(`Complete · ${events()}`, "good");
          break;
      }
    };
  });
}

async function run() {
  if (stopRunning) return;
  let wanted;
  try { wanted = request(); } catch (error) {
    status("Not sent", "bad");
    showErrors([{ message: error.message }]);
    return;
  }
  begin();
  await (wanted.kind === "subscription" ? subscribe(wanted.body) : post(wanted.body));
  finish();
}

// --- start ---

function pick(example, button) {
  ui.query.value = example.query.trim() + "\n";
  ui.variables.value = example.variables ? JSON.stringify(example.variables, null, 2) : "";
  ui.about.textContent = example.description;
  for (const other of ui.examples.children) other.setAttribute("aria-current", String(other === button));
  showOperations();
}

async function start() {
  ui.run.addEventListener("click", run);
  ui.stop.addEventListener("click", () => stopRunning && stopRunning());
  ui.query.addEventListener("input", showOperations);
  ui.clear.addEventListener("click", () => { ui.results.replaceChildren(); ui.clear.hidden = ui.copy.hidden = true; });
  ui.copy.addEventListener("click", async () => {
    await navigator.clipboard.writeText(lastText);
    ui.copy.textContent = "Copied";
    setTimeout(() => { ui.copy.textContent = "Copy"; }, 1200);
  });
  ui.reveal.addEventListener("click", () => {
    const show = ui.token.type === "password";
    ui.token.type = show ? "text" : "password";
    ui.reveal.textContent = show ? "Hide" : "Show";
    ui.reveal.setAttribute("aria-pressed", String(show));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); run(); }
  });
  try {
    const config = await (await fetch("/playground/config.json")).json();
    endpoint = config.endpoint;
    ui.token.value = config.token;
    for (const example of config.examples) {
      const button = Object.assign(document.createElement("button"), { type: "button", textContent: example.name });
      button.addEventListener("click", () => pick(example, button));
      ui.examples.append(button);
    }
    if (config.examples.length) pick(config.examples[0], ui.examples.firstElementChild);
  } catch {
    showErrors([{ message: "The configuration of this page could not be loaded." }]);
  }
}

start();
