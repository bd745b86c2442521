/**
 * What can go wrong, as exceptions.
 *
 * RamiError                     a call that did not succeed; `reason` names it
 * ├── ActionRefusedError        the rules refuse an action; nothing has changed
 * ├── StaleVersionError         the room has moved on since the action was chosen
 * ├── SupersededError           a newer Play stream of the same seat has taken over
 * ├── UnauthenticatedError      there is no token, or it counts no more: sign in again
 * └── UnavailableError          nobody answered: it may pass
 * TableEndedError               the table was closed, or its room is gone
 * RewoundError                  the store lost the past that an action was chosen on: it was not sent again
 */
import { anyUnpack } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  BadRequestSchema,
  ErrorInfoSchema,
  LocalizedMessageSchema,
  RetryInfoSchema,
} from "../gen/google/rpc/error_details_pb.ts";
import type { Status } from "../gen/google/rpc/status_pb.ts";
import type { ErrorReason } from "../gen/rami/errors/v1/error_reason_pb.ts";

/** A name of rami.errors.v1.ErrorReason; empty if no Rami service made the error. */
export type Reason = keyof typeof ErrorReason | "";

const DOMAIN = "rami";
const RULES: ReadonlySet<Reason> = new Set<Reason>([
  "MATCH_NOT_STARTED",
  "MATCH_OVER",
  "NOT_YOUR_TURN",
  "WRONG_PHASE",
  "CARD_NOT_IN_HAND",
  "MELD_NOT_FOUND",
  "INVALID_MELD",
  "INVALID_LAY_OFF",
  "MUST_KEEP_DISCARD",
]);

/** What a service says about a failed call. */
export interface Failure {
  code: Code;
  /** The server's text, for a developer to read. */
  message: string;
  reason: Reason;
  /** What varies with the error, for example `current_version`. */
  metadata: Readonly<Record<string, string>>;
  /** What is wrong with which field of the request. */
  fieldViolations: readonly { field: string; description: string }[];
  /** How long the server asks the caller to wait. */
  retryAfterMs: number | undefined;
  /** A text for the player, where the server speaks the language that was asked for. */
  localized: { locale: string; message: string } | undefined;
}

/** A call that did not succeed. */
export class RamiError extends Error implements Failure {
  readonly code: Code;
  readonly reason: Reason;
  readonly metadata: Readonly<Record<string, string>>;
  readonly fieldViolations: readonly { field: string; description: string }[];
  readonly retryAfterMs: number | undefined;
  readonly localized: { locale: string; message: string } | undefined;

  constructor(failure: Failure) {
    super(failure.message || failure.reason || Code[failure.code]);
    this.name = new.target.name;
    this.code = failure.code;
    this.reason = failure.reason;
    this.metadata = failure.metadata;
    this.fieldViolations = failure.fieldViolations;
    this.retryAfterMs = failure.retryAfterMs;
    this.localized = failure.localized;
  }

  /** Whether sending the same call again may help. */
  get passing(): boolean {
    return this.code === Code.Unavailable || this.code === Code.DeadlineExceeded;
  }
}

/** The rules refuse an action; nothing has changed. */
export class ActionRefusedError extends RamiError {}

/** The action was chosen on a version that is not the current one. */
export class StaleVersionError extends RamiError {
  /** The version of the room now. */
  get currentVersion(): bigint {
    return BigInt(this.metadata.current_version ?? "0");
  }
}

/** A newer Play stream of the same seat has taken over: this one does not come back. */
export class SupersededError extends RamiError {}

/** The caller carries no token that counts. */
export class UnauthenticatedError extends RamiError {}

/** The service, or the way to it, is away. */
export class UnavailableError extends RamiError {}

/** The table was closed, or its room is gone. */
export class TableEndedError extends Error {
  override readonly name = "TableEndedError";
}

/** The room was set back while an action was on its way: it was not sent again. */
export class RewoundError extends Error {
  override readonly name = "RewoundError";
}

/** The exception for whatever a call threw. */
export function errorFrom(thrown: unknown): RamiError {
  if (thrown instanceof RamiError) return thrown;
  const error = ConnectError.from(thrown);
  const info = error.findDetails(ErrorInfoSchema).find((detail) => detail.domain === DOMAIN);
  const retry = error.findDetails(RetryInfoSchema)[0]?.retryDelay;
  const local = error.findDetails(LocalizedMessageSchema)[0];
  return build({
    code: info === undefined && isConnectionFailure(error) ? Code.Unavailable : error.code,
    message: error.rawMessage,
    reason: (info?.reason ?? "") as Reason,
    metadata: info?.metadata ?? {},
    fieldViolations: error.findDetails(BadRequestSchema).flatMap((bad) => bad.fieldViolations),
    retryAfterMs: retry && Number(retry.seconds) * 1000 + retry.nanos / 1e6,
    localized: local && { locale: local.locale, message: local.message },
  });
}

/** The exception for a status inside a message, such as the outcome of an action on a Play stream. */
export function errorFromStatus(status: Status): RamiError {
  const found = status.details.map((any) => ({
    info: anyUnpack(any, ErrorInfoSchema),
    retry: anyUnpack(any, RetryInfoSchema),
    bad: anyUnpack(any, BadRequestSchema),
    local: anyUnpack(any, LocalizedMessageSchema),
  }));
  const info = found.find((detail) => detail.info?.domain === DOMAIN)?.info;
  const retry = found.find((detail) => detail.retry)?.retry?.retryDelay;
  const local = found.find((detail) => detail.local)?.local;
  return build({
    code: status.code,
    message: status.message,
    reason: (info?.reason ?? "") as Reason,
    metadata: info?.metadata ?? {},
    fieldViolations: found.flatMap((detail) => detail.bad?.fieldViolations ?? []),
    retryAfterMs: retry && Number(retry.seconds) * 1000 + retry.nanos / 1e6,
    localized: local && { locale: local.locale, message: local.message },
  });
}

function build(failure: Failure): RamiError {
  if (failure.code === Code.FailedPrecondition && RULES.has(failure.reason)) return new ActionRefusedError(failure);
  if (failure.reason === "STALE_VERSION") return new StaleVersionError(failure);
  if (failure.reason === "STREAM_SUPERSEDED") return new SupersededError(failure);
  if (failure.code === Code.Unauthenticated) return new UnauthenticatedError(failure);
  if (failure.code === Code.Unavailable) return new UnavailableError(failure);
  return new RamiError(failure);
}

/** fetch says only TypeError when there is no network or nobody listens; Node's transports call a reset ABORTED. */
function isConnectionFailure(error: ConnectError): boolean {
  return error.cause instanceof TypeError || error.code === Code.Aborted;
}

/** What a client says of a stream that ended without a word. */
export function broken(description: string): UnavailableError {
  return new UnavailableError({
    code: Code.Unavailable,
    message: description,
    reason: "",
    metadata: {},
    fieldViolations: [],
    retryAfterMs: undefined,
    localized: undefined,
  });
}
