// On a laptop nothing proves this: a real node needs root, containerd and networks of its own.
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
	afterAll,
	beforeAll,
	describe,
	expect,
	inject,
	test,
	vi,
} from "vitest";
import { parseAllDocuments } from "yaml";
import type { Destination } from "../../crds/generated/types.ts";
import {
	issueAuthority,
	issueCertificate,
} from "../../operator/install/certificate.ts";
import { findCondition } from "../../packages/kube/conditions.ts";
import { documented } from "../support/examples/documented.ts";
import { runDocumented } from "../support/examples/documented-commands.ts";
import { sendJSON, untilKnown } from "../support/senders/http-client.ts";
import {
	type PostgresServer,
	startPostgres,
} from "../support/servers/postgres.ts";
import { temporaryDirectory } from "../support/servers/test-server.ts";
import { network } from "./cluster/addresses.ts";
import { apply, get, kubectl, kubectlWith } from "./support/cluster.ts";
import { installChart, systemNamespace } from "./support/installation.ts";
import { serviceURL } from "./support/service.ts";
import { endOf, makeShop, namespace } from "./support/shop.ts";

/*
 * A Postgres as CloudNativePG runs it: a Service, a certificate of its own authority, and Secrets, by the names that CloudNativePG
 * gives. The server itself runs on this machine, behind that Service.
 */

const { isOwn, kubeconfig } = inject("cluster");
const [cluster, destination] = documentedResources();
const { name } = cluster.metadata;
/** Of the Service to the primary, and the Secret's key `host`. */
const host = `${name}-rw`;
const database = "app";
/** Of the Source, the Pipeline and its table: an earlier Source of the same name would have left its events. */
const contact = `contact${randomBytes(3).toString("hex")}`;
const inShop = `--namespace=${namespace}`;
const patience = { timeout: 90_000, interval: 250 };

describe.skipIf(!isOwn)("a Destination by CloudNativePG's Secrets", () => {
	let server: PostgresServer;
	let webhookURL: string;

	beforeAll(async () => {
		await makeShop();
		await Promise.all([startCluster(), installChart()]);
	});
	afterAll(async () => {
		await kubectl(
			...["delete", inShop, "--ignore-not-found", "--timeout=120s"],
			...[`pipeline/${contact}`, `source/${contact}`, `destination/${name}`],
			...[`service/${host}`, `secret/${name}-app`, `secret/${name}-ca`],
		);
		await server?.stop();
	});

	async function startCluster(): Promise<void> {
		const { ca, ...tls } = await certificates();
		server = await startPostgres({ tls, host: network.machine });
		const password = newPassword();
		await server.rows(`create role app login password '${password}'`);
		await server.rows(`create database ${database} owner app`);
		await apply(
			...serviceTo(server.port),
			applicationSecret(password),
			// Without the Cluster's labels, which CloudNativePG doesn't give to it.
			secret("ca", { type: "Opaque", stringData: ca }),
		);
	}

	test("is told by Ready to label the authority's Secret, and is verified once the command there has run", async () => {
		await apply(destination);
		const message = await vi.waitFor(async () => {
			const { ready } = await destinationStatus();
			expect(ready).toMatchObject({
				status: "False",
				reason: "SecretNotLabelled",
			});
			return ready!.message;
		}, patience);
		const [label] = documented("docs/postgres.md#cloudnativepg sh");
		const command = message.slice(message.indexOf("kubectl label"));
		expect(command).toBe(`${label!.text.trim()} -n ${namespace}`);
		await runDocumented(command, kubeconfig!);
		await kubectl(
			...["wait", `destination/${name}`, inShop],
			...["--for=condition=Ready", "--timeout=90s"],
		);
	});

	test("loads events into that server", async () => {
		await apply(
			resource("Source", { name: contact }, { type: "Webhook" }),
			resource(
				"Pipeline",
				{ name: contact },
				{ sourceRef: { name: contact }, destinationRef: { name } },
			),
		);
		await kubectl(
			...["wait", `source/${contact}`, `pipeline/${contact}`, inShop],
			...["--for=condition=Ready", "--timeout=90s"],
		);
		const { status } = await get<{ status: { webhookURL: string } }>(
			...[`source/${contact}`, inShop],
		);
		const receive = await serviceURL("tidemill-receive", systemNamespace);
		webhookURL = `${receive}${new URL(status.webhookURL).pathname}`;
		await untilKnown(webhookURL);
		const sent = [await send("one"), await send("two")];
		expect(await runPipeline()).toMatchObject({ phase: "Succeeded", rows: 2 });
		expect(await rows()).toEqual(sent.toSorted());
	});

	test("has a changed password of the Secret in the next Run", async () => {
		const before = await rows();
		const { lastCheck } = await destinationStatus();
		const password = newPassword();
		await server.rows(`alter role app password '${password}'`);
		await apply(applicationSecret(password));
		await vi.waitFor(async () => {
			const { ready, ...now } = await destinationStatus();
			expect(ready?.status).toBe("True");
			expect(now.lastCheck?.hash).not.toBe(lastCheck!.hash);
		}, patience);
		const sent = await send("three");
		expect(await runPipeline()).toMatchObject({ phase: "Succeeded" });
		expect(await rows()).toEqual([...before, sent].toSorted());
	});

	/** The event's id and body. */
	async function send(message: string): Promise<string> {
		const body = JSON.stringify({ message });
		const { status, json } = await sendJSON(webhookURL, body);
		expect(status).toBe(200);
		return `${json.event_id} ${body}`;
	}

	async function rows(): Promise<string[]> {
		const found = await server.rows(
			`select event_id, body from ${contact}`,
			database,
		);
		return found.map((row) => row.join(" ")).toSorted();
	}
});

/** The Cluster and the Destination of the docs. */
function documentedResources() {
	const [piece] = documented("docs/postgres.md#cloudnativepg yaml");
	const [cluster, destination] = parseAllDocuments(piece!.text).map(
		(document) => document.toJS(),
	);
	destination.metadata.namespace = namespace;
	return [
		cluster as {
			metadata: { name: string };
			spec: { inheritedMetadata: Inherited };
		},
		destination as Destination,
	] as const;
}

async function destinationStatus() {
	const { status } = await get<Destination>(`destination/${name}`, inShop);
	const ready = findCondition(status?.conditions, "Ready");
	return { ready, lastCheck: status?.lastCheck };
}

async function runPipeline() {
	const run = resource(
		"Run",
		{ generateName: `${contact}-` },
		{ pipelineRef: { name: contact } },
	);
	const created = await kubectlWith(
		JSON.stringify(run),
		...["create", "--filename=-", "--output=name"],
	);
	return endOf(created.trim().split("/").at(-1)!);
}

/** For the names that https://cloudnative-pg.io/documentation/current/certificates/ has, and as long as there. */
async function certificates() {
	const directory = await temporaryDirectory("certificates");
	const fileOf = async (name: string, content: string) => {
		const path = join(directory, name);
		await writeFile(path, content, { mode: 0o600 });
		return path;
	};
	const authority = await issueAuthority(`CN=${name}`, Date.now(), 90);
	const hosts = ["", ".svc", ".svc.cluster.local"].map(
		(end) => `${host}.${namespace}${end}`,
	);
	const { cert, key } = await issueCertificate(
		{ name: `CN=${host}`, hosts: [host, ...hosts] },
		authority,
		Date.now(),
		90,
	);
	return {
		ca: { "ca.crt": authority.cert, "ca.key": authority.key },
		certificate: await fileOf("tls.crt", cert),
		key: await fileOf("tls.key", key),
	};
}

/** With the keys that https://cloudnative-pg.io/documentation/current/applications/#secrets has, and the Cluster's labels. */
function applicationSecret(password: string): object {
	const [near, far] = ["", ".svc.cluster.local"].map((end) => ({
		uri: `postgresql://app:${password}@${host}.${namespace}${end}:5432/${database}`,
		jdbc: `jdbc:postgresql://${host}.${namespace}${end}:5432/${database}?password=${password}&user=app`,
	}));
	return secret("app", {
		type: "kubernetes.io/basic-auth",
		metadata: cluster.spec.inheritedMetadata,
		stringData: {
			username: "app",
			user: "app",
			password,
			host,
			port: "5432",
			dbname: database,
			pgpass: `${host}:5432:${database}:app:${password}\n`,
			uri: near!.uri,
			"jdbc-uri": near!.jdbc,
			"fqdn-uri": far!.uri,
			"fqdn-jdbc-uri": far!.jdbc,
		},
	});
}

function secret(
	of: "app" | "ca",
	{ metadata, ...rest }: SecretContent,
): object {
	return {
		apiVersion: "v1",
		kind: "Secret",
		metadata: { name: `${name}-${of}`, namespace, ...metadata },
		...rest,
	};
}

interface Inherited {
	labels: Record<string, string>;
	annotations: Record<string, string>;
}

interface SecretContent {
	type: string;
	metadata?: Inherited;
	stringData: Record<string, string>;
}

/** The Service to the primary. Nothing selects its endpoint, which is a port of this machine. */
function serviceTo(port: number): object[] {
	const metadata = { name: host, namespace };
	return [
		{
			apiVersion: "v1",
			kind: "Service",
			metadata,
			spec: { ports: [{ name: "postgres", port: 5432 }] },
		},
		{
			apiVersion: "discovery.k8s.io/v1",
			kind: "EndpointSlice",
			metadata: { ...metadata, labels: { "kubernetes.io/service-name": host } },
			addressType: "IPv4",
			endpoints: [{ addresses: [network.machine] }],
			ports: [{ name: "postgres", port }],
		},
	];
}

function resource(kind: string, metadata: object, spec: object): object {
	return {
		apiVersion: "tidemill.dev/v1alpha1",
		kind,
		metadata: { namespace, ...metadata },
		spec,
	};
}

function newPassword(): string {
	return randomBytes(32).toString("hex");
}
