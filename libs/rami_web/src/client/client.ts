/**
 * The client: signs in, and calls everything that a player may call.
 *
 *     const rami = new RamiClient({ transport: createGrpcWebTransport({ baseUrl: "http://127.0.0.1:7000" }) });
 *     await rami.signInAsGuest("Ada");
 *     const room = await rami.createRoom({ seats: 2 }, { bots: { 1: "easy" } });
 *     const table = rami.table(room.roomId);
 *     await rami.startMatch(room.roomId);
 *     while (!table.over) {
 *       await table.until((now) => now.over || now.legalActions.length > 0);
 *       if (table.legalActions[0]) await table.act(table.legalActions[0]);
 *     }
 *
 * Requests and answers are the contract's own messages. Every call may throw RamiError.
 */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import {
  type BotProfile,
  GameService,
  type GetReplayResponse,
  type GetViewResponse,
  type JoinRoomResponse,
  type RematchResponse,
} from "../gen/rami/game/v1/game_service_pb.ts";
import { type Room, type RoomOptionsSchema, RoomStatus } from "../gen/rami/game/v1/room_pb.ts";
import { type RuleSheet, RuleSheetService } from "../gen/rami/game/v1/rule_sheet_service_pb.ts";
import type { RuleOptionsSchema } from "../gen/rami/game/v1/rules_pb.ts";
import {
  type Assignment,
  MatchmakingService,
  type Ticket,
  type TicketCriteriaSchema,
  TicketState,
} from "../gen/rami/matchmaking/v1/matchmaking_service_pb.ts";
import {
  type CreateGuestResponse,
  type Player,
  PlayerService,
  type RankedPlayer,
  type RenewGuestResponse,
} from "../gen/rami/matchmaking/v1/player_service_pb.ts";
import {
  type CallContext,
  DEFAULT_RETRY,
  headersOf,
  messagesOf,
  newRequestId,
  pauseMs,
  type RetryPolicy,
  sleep,
  unary,
} from "./calls.ts";
import { errorFrom, TableEndedError } from "./errors.ts";
import { PlayTable } from "./play.ts";
import { WatchTable } from "./table.ts";

export interface ClientOptions {
  /** To the game service, or to an edge that serves everything. */
  transport: Transport;
  /** To the matchmaking service; unset where `transport` serves it as well. */
  matchmakingTransport?: Transport;
  /** The bearer token and id of a player who is signed in already. */
  token?: string;
  playerId?: string;
  /** Bounds every attempt of a unary call. */
  deadlineMs?: number;
  retry?: Partial<RetryPolicy>;
  /** A BCP 47 tag: errors may carry a text in this language. */
  language?: string;
}

export class RamiClient {
  /** The player's opaque id; empty until a guest has signed in. */
  playerId: string;
  private readonly context: CallContext;
  private readonly game: Client<typeof GameService>;
  private readonly sheets: Client<typeof RuleSheetService>;
  private readonly queue: Client<typeof MatchmakingService>;
  private readonly players: Client<typeof PlayerService>;

  constructor(options: ClientOptions) {
    const matchmaking = options.matchmakingTransport ?? options.transport;
    this.game = createClient(GameService, options.transport);
    this.sheets = createClient(RuleSheetService, options.transport);
    this.queue = createClient(MatchmakingService, matchmaking);
    this.players = createClient(PlayerService, matchmaking);
    this.playerId = options.playerId ?? "";
    this.context = {
      token: options.token,
      deadlineMs: options.deadlineMs ?? 10_000,
      retry: { ...DEFAULT_RETRY, ...options.retry },
      language: options.language,
    };
  }

  set language(tag: string) {
    this.context.language = tag;
  }

  /** Signs in a new guest, as whom this client acts from here on. */
  async signInAsGuest(displayName: string): Promise<CreateGuestResponse> {
    const guest = await unary(this.context, this.players.createGuest, { displayName });
    this.context.token = guest.token;
    this.playerId = guest.playerId;
    return guest;
  }

  /** A new token for this guest, as the same player, and another name if there is one; before the old token ends. */
  async renewGuest(displayName = ""): Promise<RenewGuestResponse> {
    const renewed = await unary(this.context, this.players.renewGuest, { displayName });
    this.context.token = renewed.token;
    return renewed;
  }

  async createRoom(
    options: MessageInitShape<typeof RoomOptionsSchema>,
    more: { bots?: Readonly<Record<number, string>>; observe?: boolean } = {},
  ): Promise<Room> {
    const request = {
      requestId: newRequestId(),
      options,
      bots: botSeats(more.bots ?? {}),
      observe: more.observe ?? false,
    };
    return present((await unary(this.context, this.game.createRoom, request)).room);
  }

  /** A room by its id, or by its join code: shows whom one would sit down with, and takes no seat. */
  async getRoom(by: string | { joinCode: string }): Promise<Room> {
    const request = typeof by === "string" ? { roomId: by } : by;
    const roomId = typeof by === "string" ? by : "";
    return present((await unary(this.context, this.game.getRoom, request, roomId)).room);
  }

  /** At most `limit` public rooms, newest first: those with so many seats, a free seat, or a match that may be watched. */
  async listRooms(
    status = RoomStatus.LOBBY,
    limit = 20,
    filters: { seats?: number; freeSeat?: boolean; watchable?: boolean } = {},
  ): Promise<Room[]> {
    const rooms: Room[] = [];
    let pageToken = "";
    do {
      const request = { status, pageSize: Math.min(limit - rooms.length, 100), pageToken, ...filters };
      const page = await unary(this.context, this.game.listRooms, request);
      rooms.push(...page.rooms);
      pageToken = page.nextPageToken;
    } while (pageToken && rooms.length < limit);
    return rooms;
  }

  /** The rooms that the player holds a seat in or hosts, newest first; those that are over included. */
  async listOwnRooms(pageSize = 20): Promise<Room[]> {
    return (await unary(this.context, this.game.listOwnRooms, { pageSize })).rooms;
  }

  /** Takes a seat by the room's id or its join code, or takes the own one back from a stand-in. */
  async joinRoom(by: { roomId: string } | { joinCode: string }, seat?: number): Promise<JoinRoomResponse> {
    const room =
      "roomId" in by
        ? { case: "roomId" as const, value: by.roomId }
        : { case: "joinCode" as const, value: by.joinCode };
    const request = { requestId: newRequestId(), room, ...(seat !== undefined && { seat }) };
    return unary(this.context, this.game.joinRoom, request, "roomId" in by ? by.roomId : "");
  }

  async leaveRoom(roomId: string): Promise<bigint> {
    return (await unary(this.context, this.game.leaveRoom, { requestId: newRequestId(), roomId }, roomId)).version;
  }

  /** Puts bots (profile by seat) in seats, or takes them out where the profile is empty. Host only. */
  async updateSeats(roomId: string, bots: Readonly<Record<number, string>>): Promise<Room> {
    const request = { requestId: newRequestId(), roomId, changes: botSeats(bots) };
    return present((await unary(this.context, this.game.updateSeats, request, roomId)).room);
  }

  async startMatch(roomId: string): Promise<bigint> {
    return (await unary(this.context, this.game.startMatch, { requestId: newRequestId(), roomId }, roomId)).version;
  }

  async getView(roomId: string): Promise<GetViewResponse> {
    return unary(this.context, this.game.getView, { roomId }, roomId);
  }

  async rematch(roomId: string): Promise<RematchResponse> {
    return unary(this.context, this.game.rematch, { requestId: newRequestId(), roomId }, roomId);
  }

  async listBotProfiles(): Promise<BotProfile[]> {
    return (await unary(this.context, this.game.listBotProfiles, { pageSize: 100 })).profiles;
  }

  /** The whole record of a match: all pages in one. */
  async replay(roomId: string): Promise<GetReplayResponse> {
    const request = { roomId, pageSize: 50, pageToken: "" };
    const whole = await unary(this.context, this.game.getReplay, request, roomId);
    while (whole.nextPageToken) {
      const next = { ...request, pageToken: whole.nextPageToken };
      const page = await unary(this.context, this.game.getReplay, next, roomId);
      if (page.header) whole.header = page.header;
      whole.rounds.push(...page.rounds);
      whole.nextPageToken = page.nextPageToken;
    }
    return whole;
  }

  /** The rules in the language that fits best, with the numbers of these options. */
  async ruleSheet(locales: string[], options?: MessageInitShape<typeof RuleOptionsSchema>): Promise<RuleSheet> {
    const request = { locales, ...(options && { options }) };
    return present((await unary(this.context, this.sheets.getRuleSheet, request)).sheet);
  }

  /** The player's rating and record; empty means the caller. */
  async player(playerId = ""): Promise<Player> {
    return present((await unary(this.context, this.players.getPlayer, { playerId })).player);
  }

  async leaderboard(pageSize = 20): Promise<RankedPlayer[]> {
    return (await unary(this.context, this.players.listLeaderboard, { pageSize })).players;
  }

  async joinQueue(criteria: MessageInitShape<typeof TicketCriteriaSchema>): Promise<Ticket> {
    return present(
      (await unary(this.context, this.queue.createTicket, { requestId: newRequestId(), criteria })).ticket,
    );
  }

  async leaveQueue(ticketId: string): Promise<void> {
    await unary(this.context, this.queue.cancelTicket, { requestId: newRequestId(), ticketId });
  }

  /**
   * Waits until a ticket has a table. Undefined when it was cancelled, has expired, or the signal aborts; a broken
   * stream is opened again.
   */
  async waitForMatch(ticketId: string, signal?: AbortSignal): Promise<Assignment | undefined> {
    for (let failures = 1; !signal?.aborted; failures++) {
      let ticket: Ticket | undefined;
      let error = undefined as ReturnType<typeof errorFrom> | undefined;
      try {
        const open = (stop: AbortSignal) =>
          this.queue.watchTicket({ ticketId }, { headers: headersOf(this.context), signal: stop });
        for await (const news of messagesOf(this.context.retry, open, signal)) {
          ticket = news.ticket;
          failures = 0;
        }
      } catch (thrown) {
        error = errorFrom(thrown);
        if (signal?.aborted) return undefined;
        if (!error.passing && error.reason) throw error;
      }
      if (ticket?.assignment) return ticket.assignment;
      if (ticket && (ticket.state === TicketState.CANCELLED || ticket.state === TicketState.EXPIRED)) return undefined;
      await sleep(pauseMs(this.context.retry, Math.max(1, failures), error), signal);
    }
    return undefined;
  }

  /** A table over WatchRoom and SubmitAction: works everywhere, and for spectators. */
  table(roomId: string): WatchTable {
    return new WatchTable(this.game, this.context, roomId, this.playerId);
  }

  /** The own seat's table over one Play stream: faster, and for transports with HTTP/2 only. */
  playTable(roomId: string): PlayTable {
    return new PlayTable(this.game, this.context, roomId, this.playerId);
  }
}

function botSeats(bots: Readonly<Record<number, string>>): { seat: number; bot: string }[] {
  return Object.entries(bots).map(([seat, bot]) => ({ seat: Number(seat), bot }));
}

function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new TableEndedError("the answer lacks what was asked for");
  return value;
}
