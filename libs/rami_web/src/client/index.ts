/** The client library of Rami: everything that a program, in a browser or in Node, needs to play. */
export { Code } from "@connectrpc/connect";
export { ErrorReason } from "../gen/rami/errors/v1/error_reason_pb.ts";
export * from "../gen/rami/game/v1/action_pb.ts";
export * from "../gen/rami/game/v1/event_pb.ts";
export type { BotProfile, GetReplayResponse, GetViewResponse } from "../gen/rami/game/v1/game_service_pb.ts";
export { GetReplayResponseSchema } from "../gen/rami/game/v1/game_service_pb.ts";
export * from "../gen/rami/game/v1/replay_pb.ts";
export * from "../gen/rami/game/v1/room_pb.ts";
export * from "../gen/rami/game/v1/rule_sheet_service_pb.ts";
export * from "../gen/rami/game/v1/rules_pb.ts";
export * from "../gen/rami/game/v1/view_pb.ts";
export { TicketState } from "../gen/rami/matchmaking/v1/matchmaking_service_pb.ts";
export type {
  CreateGuestResponse,
  Player,
  RankedPlayer,
  RenewGuestResponse,
} from "../gen/rami/matchmaking/v1/player_service_pb.ts";
export * from "./calls.ts";
export * from "./cards.ts";
export * from "./client.ts";
export * from "./errors.ts";
export { type TableState, type Update, versionOf } from "./mirror.ts";
export { PlayTable } from "./play.ts";
export * from "./rules.ts";
export * from "./shuffle.ts";
export * from "./table.ts";
export * from "./verify.ts";
