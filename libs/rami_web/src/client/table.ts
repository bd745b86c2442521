/**
 * A table kept current over a stream that may break: reconnects, gaps, rewinds, and telling whoever listens.
 *
 * `Table` is what both kinds share. `WatchTable` follows with WatchRoom and acts with SubmitAction, which is all that
 * a browser has; `PlayTable` (play.ts) does both on one Play stream. A table brings fresh entropy for the shuffles by
 * itself, as soon as it sees its seat without any before the match.
 */
import type { Client } from "@connectrpc/connect";
import { Code } from "@connectrpc/connect";
import type { Action } from "../gen/rami/game/v1/action_pb.ts";
import type { Heartbeat, LegalActions, Snapshot, Event as TableEvent } from "../gen/rami/game/v1/event_pb.ts";
import type { GameService } from "../gen/rami/game/v1/game_service_pb.ts";
import { RoomStatus } from "../gen/rami/game/v1/room_pb.ts";
import { type CallContext, headersOf, messagesOf, newRequestId, pauseMs, sleep, unary } from "./calls.ts";
import { broken, errorFrom, RamiError, TableEndedError } from "./errors.ts";
import {
  afterEvent,
  afterSnapshot,
  DivergedError,
  GapError,
  type TableState,
  type Update,
  versionOf,
  withLegalActions,
} from "./mirror.ts";
import type { Promised } from "./verify.ts";

export type GameClient = Client<typeof GameService>;

/** The parts of a message that both kinds of stream carry. */
export interface News {
  snapshot?: Snapshot;
  events: TableEvent[];
  legalActions?: LegalActions;
  heartbeat?: Heartbeat;
}

/** connecting: nothing is known yet; live: current; broken: what is held may be old, trying again; ended: for good. */
export type Connection = "connecting" | "live" | "broken" | "ended";

const DIVERGENCE_LIMIT = 5;
/** A proxy or a dying server ends streams with these: opening the stream anew tells whether it passes. */
const PASSING: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
]);
const CLOCK_SAMPLES = 32;

export interface TableListener {
  /** A step of the room, in order. */
  update?(update: Update): void;
  /** The connection, or anything else that the table shows, has changed. */
  changed?(): void;
}

export abstract class Table<Message extends News = News> {
  state: TableState | undefined;
  connection: Connection = "connecting";
  /** Why following ended before the room did; undefined while it goes on and after a good end. */
  error: Error | undefined;
  /** What was published and brought before the match; for `verifyReplay`. */
  promised: Promised | undefined;

  private readonly listeners = new Set<TableListener>();
  private readonly closing = new AbortController();
  private waking = new AbortController();
  private clock: number[] = [];
  private divergences = 0;
  private bringing = false;
  private readonly finished: Promise<void>;

  constructor(
    protected readonly game: GameClient,
    protected readonly context: CallContext,
    readonly roomId: string,
    private readonly playerId: string,
  ) {
    this.finished = Promise.resolve().then(() => this.run());
  }

  /** Plays an action of the own seat. The answer is the version of the room after it; `state` shows it by then. */
  abstract act(action: Action, expectedVersion?: bigint): Promise<bigint>;

  /** Starts a stream that resumes after a cursor. */
  protected abstract open(cursor: Uint8Array, signal: AbortSignal): AsyncIterable<Message>;

  /** Handles what only one kind of stream carries; runs after the state has taken the rest of the message. */
  protected take(_message: Message): void {}

  /** Lets go of whoever still waits, when following has ended. */
  protected end(_error: Error): void {}

  get over(): boolean {
    const status = this.state?.room.status;
    return status === RoomStatus.OVER || status === RoomStatus.CLOSED;
  }

  get version(): bigint {
    return versionOf(this.state);
  }

  /** What the own seat may do now, in canonical order; empty unless it is to move. */
  get legalActions(): Action[] {
    return this.state?.legal?.actions ?? [];
  }

  /** How far the store's clock is ahead of this one's: deadlines are in the store's time. */
  get clockOffsetMs(): number {
    return this.clock.length > 0 ? Math.max(...this.clock) : 0;
  }

  /** Hears of everything from now on, until the function that is returned is called. */
  listen(listener: TableListener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** Waits until a condition holds. Throws what ended the table. */
  async until(condition: (table: this) => boolean): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const look = () => {
        if (condition(this)) resolve();
        else if (this.connection === "ended") reject(this.error ?? new TableEndedError("the table is closed"));
        else return;
        stop();
      };
      const stop = this.listen({ changed: look });
      look();
    });
  }

  /** Tries a broken stream again at once, as when a network is back. */
  retryNow(): void {
    this.waking.abort();
    this.waking = new AbortController();
  }

  /** Ends following; the seat stays the player's. Idempotent. */
  async close(): Promise<void> {
    this.closing.abort();
    this.retryNow();
    await this.finished;
  }

  protected get ended(): boolean {
    return this.connection === "ended";
  }

  protected takeNews(message: News): void {
    const { snapshot } = message;
    if (snapshot) {
      this.hearClock(snapshot.time);
      this.state = afterSnapshot(snapshot, this.playerId);
      this.tell({ state: this.state, changes: [], snapshot: true, rewound: snapshot.rewound, event: undefined });
    }
    for (const event of message.events) {
      this.hearClock(event.time);
      if (!this.state) throw new GapError("an event before the first snapshot");
      const next = afterEvent(this.state, event, this.playerId);
      if (!next) continue;
      this.divergences = 0;
      this.state = next;
      this.tell({ state: next, changes: event.changes, snapshot: false, rewound: false, event });
    }
    if (message.legalActions && this.state) this.state = withLegalActions(this.state, message.legalActions);
    this.hearClock(message.heartbeat?.time);
    this.remember();
    this.pulse();
  }

  private tell(update: Update): void {
    for (const listener of this.listeners) listener.update?.(update);
  }

  private pulse(): void {
    for (const listener of [...this.listeners]) listener.changed?.();
  }

  private become(connection: Connection): void {
    if (this.connection === connection) return;
    this.connection = connection;
    this.pulse();
  }

  private async run(): Promise<void> {
    let failures = 0;
    let brokenSince = Date.now();
    while (!this.closing.signal.aborted) {
      const { error, heard } = await this.readStream();
      if (this.state?.room.status === RoomStatus.CLOSED || this.closing.signal.aborted) break;
      if (heard) {
        failures = 0;
        brokenSince = Date.now();
      }
      failures++;
      const passes = error instanceof RamiError && PASSING.has(error.code);
      if (!passes || Date.now() - brokenSince > this.context.retry.giveUpAfterMs) {
        this.error = error;
        break;
      }
      if (failures > 1) this.become(this.state ? "broken" : "connecting");
      await sleep(pauseMs(this.context.retry, failures, error), this.waking.signal);
    }
    this.become("ended");
    this.end(this.error ?? new TableEndedError("the table is closed"));
  }

  /** Reads one stream until it breaks; why it did, and whether it said anything before. */
  private async readStream(): Promise<{ error: Error; heard: boolean }> {
    let heard = false;
    const open = (signal: AbortSignal) => this.open(this.state?.cursor ?? new Uint8Array(), signal);
    try {
      for await (const message of messagesOf(this.context.retry, open, this.closing.signal)) {
        this.takeNews(message);
        heard = true;
        this.take(message);
        this.become("live");
      }
      return { error: broken("the stream ended"), heard };
    } catch (thrown) {
      if (thrown instanceof GapError) return { error: broken(thrown.message), heard };
      if (thrown instanceof DivergedError) {
        if (this.state) this.state = { ...this.state, cursor: new Uint8Array() };
        if (++this.divergences >= DIVERGENCE_LIMIT) return { error: new TableEndedError(thrown.message), heard };
        return { error: broken(thrown.message), heard };
      }
      return { error: errorFrom(thrown), heard };
    }
  }

  private hearClock(time: { seconds: bigint; nanos: number } | undefined): void {
    if (!time) return;
    this.clock = [...this.clock, Number(time.seconds) * 1000 + time.nanos / 1e6 - Date.now()].slice(-CLOCK_SAMPLES);
  }

  /** Keeps the commitment as it was before the match, and brings entropy where the own seat has brought none. */
  private remember(): void {
    const { state } = this;
    if (state?.room.status !== RoomStatus.LOBBY) return;
    this.promised ??= { commitment: state.room.commitment };
    const own = state.room.seats.find((seat) => seat.seat === state.seat);
    if (!own || own.entropySet || this.bringing) return;
    this.bringing = true;
    void this.bringEntropy(own.seat, crypto.getRandomValues(new Uint8Array(32)));
  }

  private async bringEntropy(seat: number, entropy: Uint8Array): Promise<void> {
    const request = { requestId: newRequestId(), roomId: this.roomId, entropy };
    for (let failures = 1; !this.closing.signal.aborted; failures++) {
      try {
        await unary(this.context, this.game.setEntropy, request, this.roomId);
        if (this.promised) this.promised = { ...this.promised, entropy: { seat, bytes: entropy } };
        break;
      } catch (thrown) {
        // The match began meanwhile, or another tab brought some: the shuffle is then checked without ours.
        const error = errorFrom(thrown);
        if (!error.passing) break;
        // It may have come, or not: only the same request can tell.
        await sleep(pauseMs(this.context.retry, failures, error), this.closing.signal);
      }
    }
    this.bringing = false;
    this.pulse();
  }
}

/** Follows a room with WatchRoom and acts with SubmitAction; for spectators too. */
export class WatchTable extends Table {
  protected override open(cursor: Uint8Array, signal: AbortSignal): AsyncIterable<News> {
    const request = { roomId: this.roomId, cursor, legalActions: true };
    return this.game.watchRoom(request, { signal, headers: headersOf(this.context, this.roomId) });
  }

  override async act(action: Action, expectedVersion = this.version): Promise<bigint> {
    const request = { requestId: newRequestId(), roomId: this.roomId, expectedVersion, action, legalActions: true };
    const { event, legalActions } = await unary(this.context, this.game.submitAction, request, this.roomId);
    if (!event) throw new TableEndedError("the answer says nothing");
    try {
      this.takeNews({ events: [event], ...(legalActions && { legalActions }) });
    } catch (error) {
      // The stream brings what comes between, and then this event.
      if (!(error instanceof GapError || error instanceof DivergedError)) throw error;
    }
    return event.version;
  }
}
