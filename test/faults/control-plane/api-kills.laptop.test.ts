import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { runKind } from "../../../crds/generated/types.ts";
import { freePort } from "../../../local/machine/ports.ts";
import { answersOk } from "../../../local/machine/program.ts";
import {
	administrator,
	apiClient,
	newAccount,
} from "../../support/fixtures/control-plane/api-fixture.ts";
import { programOf, project } from "../../support/servers/role-server.ts";
import { startNats } from "../../support/servers/servers.ts";
import {
	startServer,
	temporaryDirectory,
} from "../../support/servers/test-server.ts";

let account: string;
let token: string;
const cleanups: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
	const made = await newAccount();
	account = made.account;
	token = made.tokens.editor;
});

afterAll(async () => {
	for (const cleanup of cleanups.reverse()) await cleanup();
});

test("requests repeated under their key take effect once while replicas are killed", async () => {
	const nats = await startNats();
	cleanups.push(() => nats.stop());
	const replicas = [
		await startReplica(nats.urlFor("api")),
		await startReplica(nats.urlFor("api")),
	];
	const first = apiClient(replicas[0]!.url, token);
	await first("POST", "/v1/pipelines", {
		name: "orders",
		sourceRef: { name: "s" },
		destinationRef: { name: "d" },
	});
	let answered = 0;
	let isOver = false;
	const sendUntilAnswered = async (index: number): Promise<string> => {
		for (let attempt = index; ; attempt++) {
			const ask = apiClient(replicas[attempt % 2]!.url, token);
			const key = { "idempotency-key": `run-${index}` };
			const answer = await ask(
				...(["POST", "/v1/pipelines/orders/run", undefined, key] as const),
			).catch(() => undefined);
			if (answer?.status === 202) {
				answered++;
				return answer.body.name;
			}
			if (answer) expect(answer.status).toBe(503);
		}
	};
	const sending = (async () => {
		const names: string[] = [];
		for (let start = 0; !isOver; start += 10) {
			const indexes = Array.from({ length: 10 }, (_, index) => start + index);
			names.push(...(await Promise.all(indexes.map(sendUntilAnswered))));
		}
		return names;
	})();
	for (const replica of replicas) {
		const before = answered;
		await expect
			.poll(() => answered, { timeout: 120_000, interval: 5 })
			.toBeGreaterThan(before);
		await replica.kill();
		await replica.start();
	}
	isOver = true;
	const names = await sending;
	const { items } = await administrator().list(runKind, { namespace: account });
	expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(
		names.sort(),
	);
	expect(new Set(names).size).toBe(names.length);
});

async function startReplica(natsUrl: string) {
	const [port, healthPort] = [await freePort(), await freePort()];
	const program = {
		name: "api",
		command: process.execPath,
		args: [programOf(project), "api"],
		env: {
			KUBECONFIG: inject("kubeconfig"),
			NATS_URL: natsUrl,
			API_PORT: String(port),
			API_RATE_LIMIT: "100000",
			HEALTH_PORT: String(healthPort),
		},
		isReady: () => answersOk(`http://127.0.0.1:${healthPort}/readyz`),
		stopTimeoutMs: 5_000,
	};
	const server = await startServer(program, await temporaryDirectory("api"));
	cleanups.push(() => server.stop());
	return Object.assign(server, { url: `http://127.0.0.1:${port}` });
}
