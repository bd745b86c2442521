/** Streams that a transport has lost without noticing: nobody waits for them for ever. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { expect, test } from "vitest";
import { DEFAULT_RETRY, messagesOf } from "../../src/client/calls.ts";
import { RamiClient, TicketState, UnavailableError } from "../../src/client/index.ts";
import { ActionSchema } from "../../src/gen/rami/game/v1/action_pb.ts";
import { GameService } from "../../src/gen/rami/game/v1/game_service_pb.ts";
import { MatchmakingService } from "../../src/gen/rami/matchmaking/v1/matchmaking_service_pb.ts";

const IMPATIENT = { ...DEFAULT_RETRY, silenceLimitMs: 50, firstBackoffMs: 1 };
const FOREVER = new Promise<never>(() => {});

/** Says some things and then nothing, whatever it is told. */
async function* deaf<Message>(...messages: Message[]): AsyncGenerator<Message> {
  yield* messages;
  await FOREVER;
}

test("a stream that has gone silent ends with an error that passes", async () => {
  const heard: number[] = [];
  let told: AbortSignal | undefined;
  const reading = (async () => {
    const open = (signal: AbortSignal) => {
      told = signal;
      return deaf(1, 2);
    };
    for await (const message of messagesOf(IMPATIENT, open)) heard.push(message);
  })();
  await expect(reading).rejects.toSatisfy((error) => error instanceof UnavailableError && error.passing);
  expect(heard).toEqual([1, 2]);
  expect(told?.aborted).toBe(true);
});

test("a signal ends reading although the transport does not listen", async () => {
  const stop = new AbortController();
  const heard: number[] = [];
  for await (const message of messagesOf(DEFAULT_RETRY, () => deaf(1), stop.signal)) {
    heard.push(message);
    setTimeout(() => stop.abort(), 1);
  }
  expect(heard).toEqual([1]);
});

test("what a stream ends with is told, and a stream that ends well ends", async () => {
  async function* ending(error?: Error): AsyncGenerator<number> {
    yield 1;
    if (error) throw error;
  }
  const read = async (error?: Error) => {
    const heard: number[] = [];
    for await (const message of messagesOf(DEFAULT_RETRY, () => ending(error))) heard.push(message);
    return heard;
  };
  await expect(read()).resolves.toEqual([1]);
  await expect(read(new Error("broken off"))).rejects.toThrow("broken off");
});

test("who waits for a match looks again when the stream has gone silent", async () => {
  let watches = 0;
  const transport = createRouterTransport(({ service }) => {
    service(MatchmakingService, {
      async *watchTicket({ ticketId }) {
        watches++;
        if (watches === 1) yield* deaf({ ticket: { ticketId, state: TicketState.WAITING } });
        yield { ticket: { ticketId, state: TicketState.MATCHED, assignment: { roomId: "p0-room", seat: 1 } } };
      },
    });
  });
  const rami = new RamiClient({ transport, retry: IMPATIENT });
  expect((await rami.waitForMatch("ticket-1"))?.roomId).toBe("p0-room");
  expect(watches).toBe(2);
});

test("a table closes although its stream does not, and tries a silent one again", async () => {
  let watches = 0;
  const transport = createRouterTransport(({ service }) => {
    service(GameService, {
      async *watchRoom() {
        watches++;
        yield* deaf({ heartbeat: {} });
      },
    });
  });
  const table = new RamiClient({ transport, retry: IMPATIENT }).table("p0-room");
  await expect.poll(() => watches).toBeGreaterThan(1);
  await table.close();
  expect(table.connection).toBe("ended");
  await expect(table.until(() => false)).rejects.toMatchObject({ message: "the table is closed" });
});

test("an action is sent again while nobody answers, as the same request", async () => {
  const requests: string[] = [];
  const transport = createRouterTransport(({ service }) => {
    service(GameService, {
      async *watchRoom() {
        yield* deaf({ heartbeat: {} });
      },
      submitAction({ requestId }) {
        requests.push(requestId);
        if (requests.length < 3) throw new ConnectError("nobody is there", Code.Unavailable);
        return { event: { version: 5n } };
      },
    });
  });
  const table = new RamiClient({ transport, retry: { ...DEFAULT_RETRY, firstBackoffMs: 1 } }).table("p0-room");
  expect(await table.act(create(ActionSchema, { kind: { case: "drawStock", value: {} } }), 4n)).toBe(5n);
  expect(requests).toHaveLength(3);
  expect(new Set(requests).size).toBe(1);
  await table.close();
});
