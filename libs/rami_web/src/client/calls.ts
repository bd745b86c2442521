/**
 * How a call is made: its deadline, its request id, and which failures are tried again.
 *
 * A mutation is repeated with the request id it was first sent with, so that it applies once however often it is
 * sent. Only UNAVAILABLE and DEADLINE_EXCEEDED are tried again: everything else is an answer.
 */
import type { CallOptions } from "@connectrpc/connect";
import { broken, errorFrom, type RamiError } from "./errors.ts";

/** How often and how fast a failed call or stream is tried again. */
export interface RetryPolicy {
  /** How often a unary call is sent at most. */
  attempts: number;
  /** The longest pause before the second attempt; doubles with each further one. */
  firstBackoffMs: number;
  maxBackoffMs: number;
  /** How long a stream may stay broken before following ends with the last error. */
  giveUpAfterMs: number;
  /** Servers send a heartbeat on quiet streams; one that says nothing for so long is taken for dead. */
  silenceLimitMs: number;
}

export const DEFAULT_RETRY: RetryPolicy = {
  attempts: 8,
  firstBackoffMs: 100,
  maxBackoffMs: 3_000,
  giveUpAfterMs: 120_000,
  silenceLimitMs: 50_000,
};

/** Lets an edge route all calls of a room to one replica. */
export const ROOM_HEADER = "rami-room-id";

export interface CallContext {
  token: string | undefined;
  deadlineMs: number;
  retry: RetryPolicy;
  /** A BCP 47 tag: errors may carry a text in this language. */
  language: string | undefined;
}

/** A fresh UUID version 4. `crypto.randomUUID` is missing on pages without https. */
export function newRequestId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = ((bytes[6] as number) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] as number) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

export function headersOf(context: CallContext, roomId = ""): Record<string, string> {
  return {
    ...(context.token && { authorization: `Bearer ${context.token}` }),
    ...(context.language && { "accept-language": context.language }),
    ...(roomId && { [ROOM_HEADER]: roomId }),
  };
}

/** How long to wait after so many failures in a row (1 or more): never less than the server asks for. */
export function pauseMs(policy: RetryPolicy, failures: number, error?: RamiError): number {
  const longest = Math.min(policy.maxBackoffMs, policy.firstBackoffMs * 2 ** Math.min(failures - 1, 16));
  return Math.max(longest / 2 + (Math.random() * longest) / 2, error?.retryAfterMs ?? 0);
}

/** The answer to a unary call, which is sent again while nobody answers. Throws RamiError. */
export async function unary<Request, Response>(
  context: CallContext,
  method: (request: Request, options?: CallOptions) => Promise<Response>,
  request: Request,
  roomId = "",
): Promise<Response> {
  for (let failures = 1; ; failures++) {
    try {
      return await method(request, { timeoutMs: context.deadlineMs, headers: headersOf(context, roomId) });
    } catch (thrown) {
      const error = errorFrom(thrown);
      if (!error.passing || failures >= context.retry.attempts) throw error;
      await sleep(pauseMs(context.retry, failures, error));
    }
  }
}

/**
 * The messages of a stream, until it ends or the signal aborts. Throws UnavailableError when it has gone silent, and
 * what reading it throws. Neither end waits for the transport, which may have lost the stream without noticing.
 */
export async function* messagesOf<Message>(
  policy: RetryPolicy,
  open: (signal: AbortSignal) => AsyncIterable<Message>,
  signal?: AbortSignal,
): AsyncGenerator<Message, void> {
  const stop = new AbortController();
  const messages = open(stop.signal)[Symbol.asyncIterator]();
  try {
    while (!signal?.aborted) {
      const next = await nextWithin(policy.silenceLimitMs, messages.next(), signal);
      if (next.done) return;
      yield next.value;
    }
  } finally {
    stop.abort();
    messages.return?.().catch(() => undefined);
  }
}

function nextWithin<Message>(
  ms: number,
  next: Promise<IteratorResult<Message, unknown>>,
  signal?: AbortSignal,
): Promise<IteratorResult<Message, unknown>> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    };
    const abort = () => {
      end();
      resolve({ done: true, value: undefined });
    };
    const timer = setTimeout(() => {
      end();
      reject(broken("the stream has gone silent"));
    }, ms);
    signal?.addEventListener("abort", abort);
    next.finally(end).then(resolve, reject);
  });
}

/** Waits; ends early, without an error, when the signal aborts. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const timer = setTimeout(done, ms);
    function done() {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    }
    signal?.addEventListener("abort", done, { once: true });
  });
}
