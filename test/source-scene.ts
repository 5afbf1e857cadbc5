import { Kvm } from "@nats-io/kv";
import { expect, vi } from "vitest";
import { bucket } from "../contracts/nats.ts";
import { type Source, sourceKind } from "../crds/generated/types.ts";
import { ObjectKeys } from "../ingest/archive/store/object-keys.ts";
import type { S3ObjectStore } from "../ingest/archive/store/s3-object-store.ts";
import { findCondition } from "../operator/kube/conditions.ts";
import { newStore } from "./archive-fixture.ts";
import {
	applyYaml,
	type OperatorFixture,
	startOperatorFixture,
} from "./operator-fixture.ts";
import { startReceiver, type TestReceiver, untilReady } from "./receiver.ts";
import { startS3, type TestS3 } from "./servers.ts";
import { startTidemill, type TidemillProcess } from "./tidemill-process.ts";

const soon = { timeout: 120_000, interval: 50 };
const keys = new ObjectKeys("");

/** The way of a Source's events from a sender into the bucket, all of it real: operator, receive and archive as processes. */
export class SourceScene {
	readonly operator: OperatorFixture;
	readonly s3: TestS3;
	readonly receiver: TestReceiver;
	/** The account that is meant when none is named. */
	readonly account: string;
	readonly #store: S3ObjectStore;
	#archive: TidemillProcess;

	private constructor(
		operator: OperatorFixture,
		s3: TestS3,
		receiver: TestReceiver,
	) {
		this.operator = operator;
		this.s3 = s3;
		this.receiver = receiver;
		this.account = operator.namespaces[0];
		this.#store = newStore(s3, new AbortController().signal);
		this.#archive = this.#runArchive();
	}

	/** @param operatorEnv settings of the operator beside those that name the servers. */
	static async start(
		operatorEnv: Record<string, string> = {},
	): Promise<SourceScene> {
		const [operator, s3] = await Promise.all([
			startOperatorFixture(operatorEnv),
			startS3(),
		]);
		const receiver = await startReceiver(operator.nats);
		const scene = new SourceScene(operator, s3, receiver);
		operator.startOperator();
		await untilReady(receiver);
		return scene;
	}

	async stop(): Promise<void> {
		await this.killArchive();
		await this.receiver.stop();
		await this.operator.stop();
		await this.s3.stop();
	}

	#runArchive(): TidemillProcess {
		const { s3, operator } = this;
		const archive = startTidemill(["archive"], {
			NATS_URL: operator.nats.urlFor("archive"),
			S3_ENDPOINT: s3.endpoint,
			S3_BUCKET: s3.bucket,
			AWS_REGION: s3.region,
			AWS_ACCESS_KEY_ID: s3.accessKeyId,
			AWS_SECRET_ACCESS_KEY: s3.secretAccessKey,
			STREAM_MAX_BYTES: String(64 * 1024 * 1024),
			ARCHIVE_MAX_AGE_MS: "100",
			LOG_LEVEL: "error",
		});
		archive.onLine = (line) => process.stderr.write(`${line}\n`);
		return archive;
	}

	startArchive(): void {
		this.#archive = this.#runArchive();
	}

	async killArchive(): Promise<void> {
		this.#archive.child.kill("SIGKILL");
		await this.#archive.ended;
	}

	/** Applies a Source and waits for its URL. */
	async createSource(
		name: string,
		deletionPolicy = "Delete",
		namespace = this.account,
	): Promise<{ sourceKey: string; path: string }> {
		await applyYaml(
			namespace,
			`apiVersion: tidemill.dev/v1alpha1
kind: Source
metadata: { name: ${name} }
spec: { type: Webhook, deletionPolicy: ${deletionPolicy} }`,
		);
		const { status } = await this.says(name, "Active", namespace);
		const { pathname } = new URL(status!.webhookURL!);
		return { sourceKey: status!.sourceKey!, path: pathname };
	}

	getSource(name: string, namespace = this.account) {
		return this.operator.client.get<Source>(sourceKind, name, namespace);
	}

	/** Waits until the Source's Ready condition has this reason. */
	says(
		name: string,
		reason: string,
		namespace = this.account,
	): Promise<Source> {
		return vi.waitFor(async () => {
			const source = await this.getSource(name, namespace);
			expect(readyOf(source)?.reason).toBe(reason);
			return source!;
		}, soon);
	}

	/** Deletes a Source without waiting, and waits for what it says then. */
	async deletedAndSays(name: string, reason: string): Promise<Source> {
		await this.operator.client.delete(sourceKind, name, this.account);
		return this.says(name, reason);
	}

	gone(name: string, namespace = this.account): Promise<void> {
		return vi.waitFor(
			async () => expect(await this.getSource(name, namespace)).toBeUndefined(),
			soon,
		);
	}

	/** Sends one event to a webhook's path. Returns the status of the answer. */
	async send(path: string, body: string): Promise<number> {
		const { status } = await fetch(this.receiver.url + path, {
			method: "POST",
			headers: { "content-type": "application/json" },
			body: JSON.stringify(body),
		});
		return status;
	}

	/** Sends until it is accepted: the route may be on its way to receive. */
	accepted(path: string, body: string): Promise<void> {
		return vi.waitFor(
			async () => expect(await this.send(path, body)).toBe(200),
			soon,
		);
	}

	/** Sends until it is refused: what became of the route may be on its way to receive. */
	refused(path: string, status: number): Promise<void> {
		return vi.waitFor(
			async () => expect(await this.send(path, "late")).toBe(status),
			soon,
		);
	}

	/** A Source with an event in the bucket. */
	async sourceWithEvent(
		name: string,
		deletionPolicy?: string,
		namespace = this.account,
	) {
		const source = await this.createSource(name, deletionPolicy, namespace);
		await this.accepted(source.path, name);
		await vi.waitFor(
			async () =>
				expect(
					await this.objectsOf(source.sourceKey, namespace),
				).not.toHaveLength(0),
			soon,
		);
		return source;
	}

	/** Keys of all objects with the Source's events. */
	async objectsOf(
		sourceKey: string,
		account = this.account,
	): Promise<string[]> {
		const found: string[] = [];
		const prefix = keys.eventsOfSource({ account, sourceKey });
		for await (const { key } of this.#store.list(prefix)) found.push(key);
		return found;
	}

	/** The account that has a source key. */
	async claimant(sourceKey: string): Promise<string | undefined> {
		const claims = await new Kvm(this.operator.connection).open(bucket.claims);
		return (await claims.get(sourceKey))?.string();
	}
}

export function readyOf(source: Source | undefined) {
	return findCondition(source?.status?.conditions, "Ready");
}
