/**
 * A seat at a table over one Play stream: for programs that speak HTTP/2, such as Node. Browsers use WatchTable.
 *
 * An action that was sent when the stream broke is sent again on the next one with its first request id, once that
 * stream has said where the room stands: it applies once, or its refusal is the answer. After a rewind nothing is
 * sent again, because what the action was chosen on did not happen.
 */
import { create } from "@bufbuild/protobuf";
import type { Action } from "../gen/rami/game/v1/action_pb.ts";
import {
  type PlayAction,
  PlayActionSchema,
  type PlayRequest,
  PlayRequestSchema,
  type PlayResponse,
} from "../gen/rami/game/v1/game_service_pb.ts";
import { headersOf, newRequestId } from "./calls.ts";
import { errorFromStatus, RewoundError, TableEndedError } from "./errors.ts";
import { Table } from "./table.ts";

interface Pending {
  request: PlayAction;
  resolve(version: bigint): void;
  reject(error: Error): void;
}

export class PlayTable extends Table<PlayResponse> {
  private readonly pending = new Map<string, Pending>();
  private outbox = new Outbox();
  private greeted = false;

  protected override open(cursor: Uint8Array, signal: AbortSignal): AsyncIterable<PlayResponse> {
    this.greeted = false;
    this.outbox.close();
    this.outbox = new Outbox();
    signal.addEventListener("abort", () => this.outbox.close(), { once: true });
    this.outbox.push({ case: "hello", value: { roomId: this.roomId, cursor, legalActions: true } });
    return this.game.play(this.outbox, { signal, headers: headersOf(this.context, this.roomId) });
  }

  protected override take(message: PlayResponse): void {
    if (message.snapshot?.rewound) {
      for (const waiting of this.pending.values()) waiting.reject(new RewoundError("the room was set back"));
      this.pending.clear();
    }
    for (const { requestId, outcome } of message.results) {
      const waiting = this.pending.get(requestId);
      this.pending.delete(requestId);
      if (outcome.case === "error") waiting?.reject(errorFromStatus(outcome.value));
      else if (outcome.case === "version") waiting?.resolve(outcome.value);
    }
    if (!this.greeted) {
      this.greeted = true;
      for (const { request } of this.pending.values()) this.outbox.push({ case: "action", value: request });
    }
  }

  protected override end(error: Error): void {
    this.outbox.close();
    for (const waiting of this.pending.values()) waiting.reject(error);
    this.pending.clear();
  }

  override act(action: Action, expectedVersion = this.version): Promise<bigint> {
    if (this.ended) return Promise.reject(this.error ?? new TableEndedError("the table is closed"));
    const request = create(PlayActionSchema, { requestId: newRequestId(), expectedVersion, action });
    return new Promise((resolve, reject) => {
      this.pending.set(request.requestId, { request, resolve, reject });
      if (this.greeted) this.outbox.push({ case: "action", value: request });
    });
  }
}

type Said =
  | { case: "hello"; value: { roomId: string; cursor: Uint8Array; legalActions: boolean } }
  | { case: "action"; value: PlayAction };

/** What is still to be sent on one stream. */
class Outbox implements AsyncIterable<PlayRequest> {
  private readonly waiting: PlayRequest[] = [];
  private wake: (() => void) | undefined;
  private closed = false;

  push(request: Said): void {
    this.waiting.push(create(PlayRequestSchema, { request }));
    this.wake?.();
  }

  close(): void {
    this.closed = true;
    this.wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncIterator<PlayRequest> {
    while (!this.closed) {
      const next = this.waiting.shift();
      if (next) yield next;
      else
        await new Promise<void>((resolve) => {
          this.wake = resolve;
        });
    }
  }
}
