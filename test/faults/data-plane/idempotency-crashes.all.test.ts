// In make test: test/promises/repeat-is-not-a-second-row.laptop.test.ts
import { randomBytes } from "node:crypto";
import { jetstreamManager } from "@nats-io/jetstream";
import { expect, onTestFinished, test } from "vitest";
import { bucket, framesSubject } from "../../../packages/contracts/nats.ts";
import {
	eventually,
	newEvent,
} from "../../support/fixtures/data-plane/archive-fixture.ts";
import {
	IdempotencyFixture,
	type KeyedSource,
} from "../../support/fixtures/data-plane/idempotency-fixture.ts";
import { TcpProxy } from "../../support/proxies/tcp-proxy.ts";

/** NATS's command, since other requests name the bucket before. */
const claimWritten = `PUB $KV.${bucket.idempotency}.`;
const framePublished = framesSubject(0);

/**
 * A receiver is killed when it has come as far as `at` with a request under the key `k`, and its sender has no answer.
 * The other receiver is left.
 */
async function killedWhen(
	fixture: IdempotencyFixture,
	source: KeyedSource,
	at: Parameters<TcpProxy["stallAt"]>,
) {
	const { nats } = fixture.servers;
	const proxy = await TcpProxy.start(Number(new URL(nats.url).port));
	onTestFinished(() => proxy.close());
	const victim = await fixture.receiver(proxy.port);
	await source.stored(victim);
	const reached = proxy.stallAt(...at);
	const answered = source.send(victim, "k").catch(() => undefined);
	await reached;
	await victim.kill();
	expect((await answered)?.status).not.toBe(200);
	return fixture.receiver();
}

async function code(answer: ReturnType<KeyedSource["send"]>): Promise<string> {
	const { status, json } = await answer;
	return `${status} ${json.error?.code ?? json.event_id}`;
}

/** What a request under the key `k` is answered, once NATS has had time for it. */
function answerOf(
	source: KeyedSource,
	receiver: Parameters<KeyedSource["send"]>[0],
): Promise<string> {
	return eventually(async () => {
		const answer = await code(source.send(receiver, "k"));
		expect(answer).not.toBe("503 StorageUnavailable");
		return answer;
	});
}

test.each<[string, ...Parameters<TcpProxy["stallAt"]>]>([
	["as its claim was written", claimWritten, "after"],
	["before its frame was published", framePublished, "before"],
])(
	"after a receiver is killed %s, repeats wait until its event can no longer arrive; then one takes the id over",
	async (_, ...at) => {
		const fixture = await IdempotencyFixture.start();
		const source = await fixture.source();
		const other = await killedWhen(fixture, source, at);
		const claim = await source.entry("k");
		expect(claim).toMatchObject({ state: "claimed" });
		expect(await answerOf(source, other)).toBe("503 KeyInUse");

		// All is archived, but the claimant might still publish.
		const { flush } = await fixture.archiveAll();
		expect(await answerOf(source, other)).toBe("503 KeyInUse");
		await source.passDeadline("k");
		expect(await answerOf(source, other)).toBe(`200 ${claim!.event}`);
		expect(await answerOf(source, other)).toBe(`200 ${claim!.event}`);
		await flush();
		const ids = await fixture.storedIds();
		expect(ids.filter((id) => id === claim!.event)).toHaveLength(1);
		expect(ids).toHaveLength(2);
	},
);

test("the key of a receiver that was killed while it wrote its claim is free again, though archive is always behind others' events", async () => {
	const fixture = await IdempotencyFixture.start();
	const source = await fixture.source();
	const other = await killedWhen(fixture, source, [claimWritten, "after"]);
	const claim = await source.entry("k");
	// Until it is told to, it archives nothing more.
	const { flush, stop } = await fixture.archiveAll({ maxAgeMs: 600_000 });
	await source.stored(other);
	const storedBy = Date.now() + 1;
	await eventually(() => expect(Date.now()).toBeGreaterThan(storedBy));
	await source.passDeadline("k");
	// What was stored by the deadline is not all archived.
	expect(await answerOf(source, other)).toBe("503 KeyInUse");
	await flush();
	await stop();
	await source.stored(other);
	expect(await answerOf(source, other)).toBe(`200 ${claim!.event}`);
});

test("a receiver killed after its frame was published: repeats wait for archive, which marks the event stored", async () => {
	const fixture = await IdempotencyFixture.start();
	const source = await fixture.source();
	const other = await killedWhen(fixture, source, [framePublished, "after"]);
	const claim = await source.entry("k");
	await source.passDeadline("k");
	// It is in the stream, and only archive will know.
	expect(await answerOf(source, other)).toBe("503 KeyInUse");
	expect(await source.entry("k")).toMatchObject({ state: "claimed" });

	await fixture.archiveAll();
	expect(await source.entry("k")).toMatchObject({ state: "stored" });
	expect(await answerOf(source, other)).toBe(`200 ${claim!.event}`);
	const ids = await fixture.storedIds();
	expect(ids.filter((id) => id === claim!.event)).toHaveLength(1);
	expect(ids).toHaveLength(2);
});

test("nobody waits for an event that the stream refused: the next request takes over its id", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const source = await fixture.source();
	await source.stored(receiver);
	const { streams } = await jetstreamManager(fixture.archive.connection);
	const { stream } = fixture.archive;
	await streams.update(stream, { max_bytes: 1 });
	expect(await code(source.send(receiver, "k"))).toBe("503 StorageUnavailable");
	await streams.update(stream, { max_bytes: 1024 ** 2 });
	const id = await source.stored(receiver, "k");
	expect(await source.entry("k")).toMatchObject({ event: id });
	await fixture.archiveAll();
	expect(await fixture.storedIds()).toContain(id);
	expect(await fixture.storedIds()).toHaveLength(2);
});

test("a copy that arrives far too late makes no second row, in one cut or in two, whichever archiver reads it", async () => {
	const fixture = await IdempotencyFixture.start();
	const receiver = await fixture.receiver();
	const source = await fixture.source();
	const id = await source.stored(receiver, "k");
	const late = () =>
		fixture.archive.publish(
			[
				newEvent('"before"'),
				newEvent('"late"', {
					id: Buffer.from(id.replaceAll("-", ""), "hex"),
					key: source.digest("k"),
				}),
				newEvent('"after"'),
			],
			{ process: randomBytes(16).toString("hex"), number: 1 },
		);
	await late();
	const first = await fixture.archiveAll();
	await first.stop();
	await late();
	const second = await fixture.archiveAll();
	await second.stop();
	const bodies = ['"after"', '"after"', '"before"', '"before"', "{}"];
	expect(await fixture.archive.bodies()).toEqual(bodies);
	// A third archiver reads the cut records as they are.
	await late();
	await fixture.archiveAll();
	expect(await fixture.archive.bodies()).toHaveLength(7);
});

test("a claim is given back if NATS dies before it acknowledges it", async () => {
	const fixture = await IdempotencyFixture.start();
	const source = await fixture.source();
	const { nats } = fixture.servers;
	const proxy = await TcpProxy.start(Number(new URL(nats.url).port));
	onTestFinished(() => proxy.close());
	const receiver = await fixture.receiver(proxy.port);
	await source.stored(receiver);
	const reached = proxy.stallAt(claimWritten, "after");
	const answer = source.send(receiver, "k");
	await reached;
	expect(await code(answer)).toBe("503 StorageUnavailable");
	const claim = await source.entry("k");
	expect(claim).toMatchObject({ state: "claimed" });
	proxy.reset();
	expect(await source.stored(receiver, "k")).toBe(claim!.event);
});
