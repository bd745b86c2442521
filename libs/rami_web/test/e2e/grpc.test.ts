/** Whole matches from the contract alone: over gRPC with Play, and over gRPC-Web with WatchRoom and SubmitAction. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { firstMatch } from "../../examples/first-match.ts";
import {
  Code,
  type GetReplayResponse,
  MatchEndReason,
  RamiClient,
  type RamiError,
  ReplayError,
  RoomStatus,
  StaleVersionError,
  type Table,
  Visibility,
  verifyReplay,
} from "../../src/client/index.ts";
import { Cluster, showLogsOfFailures, WEB } from "../support/cluster.ts";

const HOUR_MS = 3_600_000;

let cluster: Cluster;

beforeAll(async () => {
  cluster = await Cluster.start(["--edge", "--game-replicas", "1"]);
});
afterAll(async () => cluster?.stop());
showLogsOfFailures(() => cluster);

function overGrpc(): RamiClient {
  return new RamiClient({
    transport: createGrpcTransport({ baseUrl: `http://${cluster.addresses.game}` }),
    matchmakingTransport: createGrpcTransport({ baseUrl: `http://${cluster.addresses.matchmaking}` }),
  });
}

function overGrpcWeb(): RamiClient {
  return new RamiClient({
    transport: createGrpcWebTransport({ baseUrl: `http://${cluster.addresses.edge}`, httpVersion: "1.1" }),
  });
}

/** Plays to the end: melds what it can, and discards the last of its hand. */
async function playOut(table: Table): Promise<void> {
  while (!table.over) {
    await table.until((now) => now.over || now.legalActions.length > 0);
    const meld = table.legalActions.find(({ kind }) => kind.case === "meld" || kind.case === "layOff");
    const action =
      meld ?? table.legalActions.find(({ kind }) => kind.case === "drawStock") ?? table.legalActions.at(-1);
    if (action) await table.act(action);
  }
}

async function check(replay: GetReplayResponse, table: Table): Promise<void> {
  expect(replay.header?.result?.reason).toBe(MatchEndReason.TARGET_SCORE);
  const verified = await verifyReplay(replay, table.promised);
  expect(verified.promiseKept).toBe(true);
  expect(table.promised?.entropy).toBeDefined();
  expect(verified.scores).toEqual(table.state?.view?.scores);
  expect(verified.winnerSeat).toBe(table.state?.view?.winnerSeat);
  expect(verified.rounds).toBe(replay.rounds.length);
}

test("a whole match over gRPC, on one Play stream", async () => {
  const rami = overGrpc();
  await rami.signInAsGuest("Ada");
  const room = await rami.createRoom({ seats: 3, rules: { targetScore: 40 } }, { bots: { 1: "easy", 2: "easy" } });
  const table = rami.playTable(room.roomId);
  await table.until((now) => now.promised?.entropy !== undefined);
  await rami.startMatch(room.roomId);
  await playOut(table);
  await check(await rami.replay(room.roomId), table);
  await table.close();
});

test("a whole match over gRPC-Web, with WatchRoom and SubmitAction, through matchmaking and in a rematch", async () => {
  const rami = overGrpcWeb();
  await rami.signInAsGuest("Grete");
  const ticket = await rami.joinQueue({
    playerCounts: [2],
    rules: [{ targetScore: 5 }],
    botsAllowed: true,
    bot: "easy",
  });
  const assignment = await rami.waitForMatch(ticket.ticketId);
  if (!assignment) throw new Error("no table");
  const table = rami.table(assignment.roomId);
  await playOut(table);
  await check(await rami.replay(assignment.roomId), table);
  const again = await rami.rematch(assignment.roomId);
  const second = rami.table(again.room?.roomId ?? "");
  await playOut(second);
  await check(await rami.replay(again.room?.roomId ?? ""), second);
  await Promise.all([table.close(), second.close()]);
});

test("the example of the README plays a match", async () => {
  const example = readFileSync(join(WEB, "examples/first-match.ts"), "utf8");
  expect(readFileSync(join(WEB, "README.md"), "utf8")).toContain(`\`\`\`ts\n${example}\`\`\``);
  const scores = await firstMatch(`http://${cluster.addresses.edge}`);
  expect(Math.max(...scores)).toBeGreaterThanOrEqual(20);
});

test("the view that follows from events is the one that the server sends", async () => {
  const rami = overGrpcWeb();
  await rami.signInAsGuest("Emmy");
  const room = await rami.createRoom({ seats: 2, rules: { targetScore: 30 } }, { bots: { 1: "easy" } });
  const table = rami.table(room.roomId);
  await table.until((now) => now.promised?.entropy !== undefined);
  await rami.startMatch(room.roomId);
  let compared = 0;
  while (!table.over) {
    await table.until((now) => now.over || now.legalActions.length > 0);
    const { snapshot, legalActions } = await rami.getView(room.roomId);
    const { room: served, view } = snapshot ?? {};
    if (served?.version === table.version && view && table.state) {
      const timeless = { ...served, expireTime: undefined };
      expect({ ...table.state.room, expireTime: undefined }).toEqual(timeless);
      expect({ ...table.state.view, traces: [] }).toEqual({ ...view, traces: [] });
      expect(table.legalActions).toEqual(legalActions?.actions ?? []);
      compared++;
    }
    const action = table.legalActions.find(({ kind }) => kind.case !== "drawDiscard");
    if (action) await table.act(action);
  }
  expect(compared).toBeGreaterThan(4);
  await table.close();
});

test("a table goes on after the game service was killed, and nothing is played twice", async () => {
  const rami = overGrpc();
  await rami.signInAsGuest("Sofia");
  const room = await rami.createRoom({ seats: 2 }, { bots: { 1: "easy" } });
  const table = rami.playTable(room.roomId);
  await table.until((now) => now.promised?.entropy !== undefined);
  await rami.startMatch(room.roomId);
  await table.until((now) => now.legalActions.length > 0);
  const held = table.version;
  cluster.kill("game_state");
  const first = table.legalActions[0];
  if (!first) throw new Error("nothing is legal");
  expect(await table.act(first)).toBe(held + 1n);
  expect(table.connection).toBe("live");
  await rami.leaveRoom(room.roomId);
  await table.until((now) => now.over);
  await verifyReplay(await rami.replay(room.roomId), table.promised);
  await table.close();
});

test("errors carry their code, reason and metadata, by call and by stream", async () => {
  const rami = overGrpcWeb();
  const thrown = async (work: Promise<unknown>): Promise<RamiError> =>
    work.then(
      () => expect.fail("was accepted"),
      (error) => error,
    );
  expect(await thrown(rami.getRoom("p0-abcdefgh23456723"))).toMatchObject({ reason: "TOKEN_MISSING" });
  await rami.signInAsGuest("Ida");
  const missing = await thrown(rami.getRoom("p0-abcdefgh23456723"));
  expect([missing.code, missing.reason]).toEqual([Code.NotFound, "ROOM_NOT_FOUND"]);
  const wrong = await thrown(rami.createRoom({ seats: 9 }));
  expect([wrong.code, wrong.fieldViolations[0]?.field]).toEqual([Code.InvalidArgument, "options.seats"]);
  const room = await rami.createRoom({ seats: 2 }, { bots: { 1: "easy" } });
  await rami.startMatch(room.roomId);
  const table = rami.table(room.roomId);
  const played = rami.playTable(room.roomId); // HTTP/1.1 has no bidirectional streams
  await table.until((now) => now.legalActions.length > 0);
  const [draw] = table.legalActions;
  if (!draw) throw new Error("nothing is legal");
  const stale = await thrown(table.act(draw, table.version - 1n));
  expect(stale).toBeInstanceOf(StaleVersionError);
  expect((stale as StaleVersionError).currentVersion).toBe(table.version);
  await Promise.all([table.close(), played.close()]);
});

test("a guest takes another name, and finds its room again by list and by code", async () => {
  const ada = overGrpcWeb();
  const guest = await ada.signInAsGuest("Ada");
  const renewed = await ada.renewGuest("Countess");
  expect([renewed.playerId, renewed.displayName]).toEqual([guest.playerId, "Countess"]);
  const room = await ada.createRoom({ seats: 3, visibility: Visibility.PUBLIC }, { bots: { 1: "easy" } });
  const closed = await ada.createRoom({ seats: 2 });
  expect((await ada.listOwnRooms()).map(({ roomId }) => roomId).sort()).toEqual([room.roomId, closed.roomId].sort());
  const open = await ada.listRooms(RoomStatus.LOBBY, 20, { seats: 3, freeSeat: true });
  expect(open.map(({ roomId }) => roomId)).toContain(room.roomId);
  expect(await ada.listRooms(RoomStatus.LOBBY, 20, { seats: 4 })).toEqual([]);

  const bob = overGrpcWeb();
  await bob.signInAsGuest("Bob");
  const watchable = await bob.listRooms(RoomStatus.LOBBY, 20, { watchable: true });
  expect(watchable.map(({ roomId }) => roomId)).not.toContain(room.roomId);
  const found = await bob.getRoom({ joinCode: closed.joinCode });
  expect(found.roomId).toBe(closed.roomId);
  expect(found.seats[0]?.holder.value).toMatchObject({ displayName: "Countess" });
  const trueTime = Date.now;
  const slow = vi.spyOn(Date, "now").mockImplementation(() => trueTime() - HOUR_MS);
  try {
    const table = bob.table(room.roomId);
    await table.until((now) => now.connection === "live");
    expect(Math.abs(table.clockOffsetMs - HOUR_MS)).toBeLessThan(60_000); // known from the snapshot on
    await table.close();
  } finally {
    slow.mockRestore();
  }
});

test("a replay that was tampered with is refused at the place", async () => {
  const rami = overGrpc();
  await rami.signInAsGuest("Vera");
  const room = await rami.createRoom({ seats: 2, rules: { targetScore: 1 } }, { bots: { 1: "easy" } });
  const table = rami.table(room.roomId);
  await table.until((now) => now.promised?.entropy !== undefined);
  await rami.startMatch(room.roomId);
  await playOut(table);
  const fresh = () => rami.replay(room.roomId);
  const fault = async (change: (replay: GetReplayResponse) => void, promised = table.promised): Promise<string> => {
    const replay = await fresh();
    change(replay);
    return verifyReplay(replay, promised).then(
      () => "accepted",
      (error) =>
        error instanceof ReplayError ? `${error.fault} ${error.roundNumber}/${error.actionNumber}` : String(error),
    );
  };
  expect(await fault(() => {})).toBe("accepted");
  expect(await fault((replay) => replay.rounds[0]?.seed.fill(7))).toBe("seed 1/0");
  expect(await fault((replay) => replay.header?.commitment.fill(7))).toBe("commitment 0/0");
  expect(await fault((replay) => replay.header?.entropies[0]?.fill(7))).toBe("entropy 0/0");
  // Without the first draw whatever comes next is played too early; a meld that is missing shows much later.
  expect(await fault((replay) => replay.rounds[0]?.actions.shift())).toBe("action 1/1");
  expect(
    await fault((replay) => {
      const result = replay.rounds[0]?.result;
      if (result) result.points++;
    }),
  ).toBe("result 1/0");
  expect(
    await fault((replay) => {
      const result = replay.header?.result;
      if (result?.winnerSeat !== undefined) result.winnerSeat = 1 - result.winnerSeat;
    }),
  ).toBe("winner 0/0");
  await table.close();
});
