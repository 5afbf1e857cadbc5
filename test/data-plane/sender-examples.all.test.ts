// In make test: test/protocols/signatures.test.ts
import { randomBytes } from "node:crypto";
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { NatsConnection } from "@nats-io/transport-node";
import { stringify } from "uuid";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import type { Source } from "../../crds/generated/types.ts";
import {
	readResourceSchemas,
	type Schema,
} from "../../crds/resource-schema.ts";
import { openKeyBucket } from "../../ingest/archive/write/idempotency-settlement.ts";
import { QuestionResponder } from "../../ingest/notify/question-responder.ts";
import { authorize } from "../../operator/source/routes/authorization.ts";
import { routeOf } from "../../operator/source/routes/decide.ts";
import { createLog } from "../../packages/service/log.ts";
import { documented } from "../support/examples/documented.ts";
import {
	type ReceiveFixture,
	readFrames,
	sealKey,
	startReceiveFixture,
} from "../support/fixtures/data-plane/receiver.ts";
import { validateSpec } from "../support/manifests/spec-validator.ts";
import { untilKnown } from "../support/senders/http-client.ts";
import { pageTraffic, topic } from "../support/senders/page-requests.ts";
import {
	type ProviderAnswer,
	type ProviderRequest,
	published,
	secret,
	traffic,
} from "../support/senders/provider-requests.ts";
import { connectAs } from "../support/servers/servers.ts";

/* Each example of docs/senders.md and examples/senders: operator's half of the way, then what its provider sends to a real receive. */

const root = join(import.meta.dirname, "../..");
const files = globSync("examples/senders/*.yaml", { cwd: root });
const read = (path: string) => readFileSync(join(root, path), "utf8");
const byFile = new Map<string, Source>(
	files.map((path) => [basename(path, ".yaml"), parse(read(path))]),
);
const onPage = new Map<string, Source>(
	documented("docs/{senders,senders/*,reference/senders}.md yaml").map(
		({ text }) => {
			const source = parse(text) as Source;
			return [source.metadata.name, source];
		},
	),
);
let fixture: ReceiveFixture;
let nats: NatsConnection;
let notify: { stop(): Promise<void> };

beforeAll(async () => {
	fixture = await startReceiveFixture();
	await openKeyBucket(fixture.admin, { maxKeys: 1_000, replicas: 1 });
	// Notify's side, which fetches keys. Only who publishes them is a double.
	nats = await connectAs(fixture.nats, "notify");
	const texts = { ...published, [topic.certificateURL]: topic.certificate };
	const get = async (url: string) => ({ text: texts[url] ?? "" });
	const log = createLog("test");
	notify = new QuestionResponder({ nats, get, log }).start();
	await nats.flush();
});

afterAll(async () => {
	await notify.stop();
	await nats.close();
	await fixture.stop();
});

/** What the apiserver makes of a value: the CRD's defaults filled in. */
function withDefaults(value: unknown, schema: Schema): unknown {
	if (Array.isArray(value))
		return value.map((one) => withDefaults(one, schema.items!));
	if (typeof value !== "object" || value === null) return value;
	const filled: Record<string, unknown> = { ...value };
	for (const [name, field] of Object.entries(schema.properties ?? {})) {
		if (field.default !== undefined) filled[name] ??= field.default;
		if (filled[name] !== undefined)
			filled[name] = withDefaults(filled[name], field);
	}
	return filled;
}

const { schema } = readResourceSchemas().find(({ kind }) => kind === "Source")!;

/** Serves an example's Source. Returns its URL. */
async function served(example: Source, secretText: string): Promise<string> {
	const source = structuredClone(example);
	expect(validateSpec("Source", source.spec)).toEqual([]);
	source.spec = withDefaults(
		source.spec,
		schema.properties!.spec!,
	) as Source["spec"];
	source.metadata.namespace = "shop";
	const keys = {
		sourceKey: randomBytes(16).toString("hex"),
		urlKey: randomBytes(16).toString("hex"),
		shard: 0,
	};
	const { authorization, problem } = authorize(source, {
		secretOf: () => ({
			metadata: { name: "provider", labels: { "tidemill.dev/use": "true" } },
			data: { secret: Buffer.from(secretText).toString("base64") },
		}),
		sealKey,
		sourceKey: keys.sourceKey,
		receiveURL: fixture.receiver.url,
	});
	expect(problem).toBeUndefined();
	await fixture.routes.put(routeOf(source, keys, authorization));
	const url = `${fixture.receiver.url}/hooks/${keys.sourceKey}/${keys.urlKey}`;
	await untilKnown(url);
	return url;
}

async function answerTo(
	url: string,
	{ method = "POST", headers, query, body }: ProviderRequest,
) {
	const response = await fetch(query ? `${url}?${query}` : url, {
		method,
		...(headers && { headers }),
		...(body !== undefined && { body }),
	});
	return {
		status: response.status,
		headers: Object.fromEntries(response.headers),
		body: await response.text(),
	};
}

/** The same until a claim can be made: receive has just heard of the bucket for keys. */
async function eventAnswer(url: string, event: ProviderRequest) {
	for (;;) {
		const answer = await answerTo(url, event);
		if (answer.status !== 503) return answer;
	}
}

function expectAnswer(
	answer: Awaited<ReturnType<typeof answerTo>>,
	{ status, body, headers = {} }: ProviderAnswer,
): void {
	expect(answer).toMatchObject({ status, headers });
	// Of a refusal, its code.
	if (status < 400 || body === "") expect(answer.body).toBe(body);
	else expect(JSON.parse(answer.body).error.code).toBe(body);
}

async function storedIds(url: string): Promise<string[]> {
	const sourceKey = url.split("/").at(-2);
	const frames = await readFrames(fixture.admin, fixture.stream);
	return frames
		.flatMap(({ events }) => events)
		.filter((event) => event.sourceKey === sourceKey)
		.map(({ id }) => stringify(id));
}

test("each example is tried", () => {
	for (const [examples, tried] of [
		[byFile, traffic],
		[onPage, pageTraffic],
	] as const)
		expect([...examples.keys()].toSorted()).toEqual(
			Object.keys(tried).toSorted(),
		);
	for (const [name, { metadata }] of byFile) expect(metadata.name).toBe(name);
});

const all = [
	...Object.entries(traffic).map(
		([name, provider]) =>
			[`examples/senders/${name}.yaml`, byFile.get(name)!, provider] as const,
	),
	...Object.entries(pageTraffic).map(
		([name, provider]) =>
			[`${name} in docs/senders.md`, onPage.get(name)!, provider] as const,
	),
];

describe.each(all)("%s", (_, example, provider) => {
	let url: string;
	beforeAll(async () => {
		url = await served(example, provider.secret ?? secret);
	});

	test.runIf(provider.challenges)(
		"has its check of the URL answered, and nothing is stored",
		async () => {
			for (const [request, answer] of provider.challenges!())
				expectAnswer(await answerTo(url, request), answer);
			expect(await storedIds(url)).toEqual([]);
		},
	);

	test("has its event stored, once if it has a key", async () => {
		const event = await provider.event(url);
		const answers = [
			await eventAnswer(url, event),
			await eventAnswer(url, event),
		];
		if (provider.accepts) expect(await provider.accepts(event)).toBe(true);
		for (const answer of answers)
			if (provider.answer) expectAnswer(answer, provider.answer);
			else expect(answer.status).toBe(200);
		expect(await storedIds(url)).toHaveLength(provider.hasKey ? 1 : 2);
	});

	test.runIf(provider.elsewhere)(
		"sends an event for two subscriptions, which are two events",
		async () => {
			const { length } = await storedIds(url);
			const other = await provider.elsewhere!(url);
			for (const _ of [1, 2])
				expect((await answerTo(url, other)).status).toBe(200);
			expect(await storedIds(url)).toHaveLength(length + 1);
		},
	);

	test.skipIf(provider.isOpen)(
		"is the only one whose events are stored",
		async () => {
			const { headers, query, ...event } = await provider.event(url);
			const other = { headers, body: provider.otherBody ?? '{"id":"evt_2"}' };
			const { length } = await storedIds(url);
			for (const forged of [
				...(provider.isProvenInBody ? [] : [event]),
				...(provider.isByToken ? [] : [other]),
			])
				expect((await answerTo(url, forged)).status).toBe(401);
			expect(await storedIds(url)).toHaveLength(length);
		},
	);
});
