// In make test: test/control-plane/api.laptop.test.ts
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import type { ArchiveClient } from "../../api/http/endpoint.ts";
import { type Run, runKind } from "../../crds/generated/types.ts";
import { label } from "../../crds/labels.ts";
import {
	type ApiClient,
	apiClient,
	startApi,
	type TestApi,
	tokenOf,
} from "../support/fixtures/control-plane/api-fixture.ts";
import {
	ProcessNodeFixture,
	podSpec,
	wait,
} from "../support/fixtures/control-plane/process-node-fixture.ts";
import {
	withoutArchive,
	withoutReceive,
} from "../support/fixtures/control-plane/without-nats.ts";
import { kubectl } from "../support/servers/kubectl.ts";

const progress = (daysDone: number, rowsDone: number) =>
	JSON.stringify({ daysDone, daysTotal: 3, rowsDone, rowsTotal: 30 });

let node: ProcessNodeFixture;
let api: TestApi;
let token: string;
let viewer: ApiClient;
/** What archive has of a log. */
let kept: ArchiveClient["askLog"] = async () => undefined;

beforeAll(async () => {
	node = await ProcessNodeFixture.start();
	api = await startApi(undefined, {
		archive: { ...withoutArchive, askLog: (question) => kept(question) },
		receive: withoutReceive,
	});
	const roles = join(
		import.meta.dirname,
		"../../charts/tidemill/files/rbac/roles.yaml",
	);
	await kubectl(["apply", `--filename=${roles}`]);
	token = await tokenOf(
		node.namespace,
		"viewer",
		"tidemill-viewer",
		"tidemill-log-reader",
	);
	viewer = apiClient(api.url, token);
});

afterAll(async () => {
	await api?.api.close();
	await node?.stop();
});

test("a run that is loading tells its progress and its log, and is followed to its end", async () => {
	const finish = await startLoading("loading");
	await vi.waitFor(async () => {
		const { body } = await viewer("GET", "/v1/runs/loading/progress");
		expect(body).toEqual({
			status: "Running",
			...JSON.parse(progress(1, 10)),
		});
	}, wait);
	const { body } = await viewer("GET", "/v1/runs/loading/logs?tail=5");
	expect(body).toEqual({ text: `${progress(1, 10)}\n` });

	const following = await follow("loading");
	expect(following.headers.get("content-type")).toBe(
		"text/plain; charset=utf-8",
	);
	const reader = following.body!.pipeThrough(new TextDecoderStream());
	let log = "";
	for await (const chunk of reader) {
		log += chunk;
		// Only now may the Pod go on, so the lines above came while it ran.
		if (log === `${progress(1, 10)}\n`) await finish();
	}
	expect(log).toBe(`${progress(1, 10)}\n${progress(3, 30)}\n`);
});

test("a caller that follows a log is let go when the API stops, and sees that the log goes on", async () => {
	const finish = await startLoading("cut-off");
	const stopped = await startApi();
	const following = await vi.waitFor(async () => {
		const answer = await follow("cut-off", stopped.url);
		expect(answer.status).toBe(200);
		return answer;
	}, wait);
	const log = following.text();
	stopped.stop.abort();
	await expect(log).rejects.toThrow("terminated");
	await stopped.api.close();
	await finish();
});

test("who may read Runs reads an ended run's log from the bucket, or the end of it if that is away, without a permission for Pods", async () => {
	await node.client.create<Run>(runKind, {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata: { name: "ended", namespace: node.namespace },
		spec: { pipelineRef: { name: "orders" } },
	});
	const runner = apiClient(
		api.url,
		await tokenOf(node.namespace, "runner", "tidemill-runner"),
	);
	const before = await runner("GET", "/v1/runs/ended/logs");
	expect(before.status).toBe(403);
	const log = `${progress(1, 10)}\n{"msg":"the file is in use"}\n`;
	await node.client.applyStatus<Run>(
		runKind,
		{
			metadata: { name: "ended", namespace: node.namespace },
			status: { phase: "Failed", completionTime: "2026-03-01T12:00:00Z", log },
		},
		{ fieldManager: "test" },
	);
	const whole = `{"msg":"the first line"}\n${log}`;
	const { metadata } = (await node.client.get<Run>(
		runKind,
		"ended",
		node.namespace,
	))!;
	const own = JSON.stringify({ run: metadata.uid, account: node.namespace });
	kept = async (question) =>
		JSON.stringify(question) === own ? whole : undefined;
	const { body: fromBucket } = await runner("GET", "/v1/runs/ended/logs");
	expect(fromBucket).toEqual({ text: whole });
	// Archive is away, or has nothing, or has the log of an attempt that was followed by another.
	const others = [
		async () => Promise.reject(new Error("archive is silent")),
		async () => undefined,
		async () => "an earlier attempt\n",
	];
	for (kept of others)
		expect((await runner("GET", "/v1/runs/ended/logs")).body).toEqual({
			text: log,
		});
	for (const caller of [runner, viewer]) {
		const { body } = await caller("GET", "/v1/runs/ended/logs");
		expect(body).toEqual({ text: log });
		const last = await caller("GET", "/v1/runs/ended/logs?tail=1&follow=true");
		expect(last.body).toEqual({ text: '{"msg":"the file is in use"}\n' });
		const { body: found } = await caller("GET", "/v1/runs/ended/progress");
		expect(found).toMatchObject({ status: "Failed", rowsDone: 10 });
		const { body: run } = await caller("GET", "/v1/runs/ended");
		expect(run).not.toHaveProperty("log");
	}
});

test("follow is true or false", async () => {
	const { status, body } = await viewer(
		"GET",
		"/v1/runs/loading/logs?follow=1",
	);
	expect(status).toBe(400);
	expect(body.details).toEqual([
		{ path: "follow", message: 'must be true or false, not "1"' },
	]);
});

function follow(run: string, url = api.url): Promise<Response> {
	return fetch(`${url}/v1/runs/${run}/logs?follow=true`, {
		headers: { authorization: `Bearer ${token}` },
	});
}

/** A Run whose Pod writes one line of progress. The returned function makes it write another one. */
async function startLoading(name: string): Promise<() => Promise<void>> {
	const finishFile = join(node.scratch, name);
	const metadata = { name, namespace: node.namespace };
	await node.client.create<Run>(runKind, {
		apiVersion: "tidemill.dev/v1alpha1",
		kind: "Run",
		metadata,
		spec: { pipelineRef: { name: "orders" } },
	});
	await node.client.applyStatus<Run>(
		runKind,
		{ metadata, status: { phase: "Running" } },
		{ fieldManager: "test" },
	);
	await node.createPod(
		name,
		podSpec(["load"], { env: [{ name: "FINISH", value: finishFile }] }),
		{ [label.run]: name },
	);
	return () => writeFile(finishFile, "");
}
