// In make test: tools/generate/chart/value-forms.test.ts
import { readFileSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parseAllDocuments, stringify } from "yaml";
import { chart, examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";

const tryOut = `--values=${examples.get("try-out")}`;
const set = (...values: string[]) => values.map((value) => `--set=${value}`);

test.each([
	["receive.url=", 'receive.url is ""'],
	["receive.url=hooks.example.com", "Set it to the address"],
	["s3.enabled=false", "objectStore.bucket or .region is empty"],
	["objectStore.region=eu-west-1", "s3.enabled is true"],
	["nats.url=tls://nats.example.com", "Set nats.enabled=false"],
	["nats.enabled=false", "Set it to your own NATS"],
	["nats.replicas=3,nats.tls.enabled=false", "set nats.tls.enabled=true"],
	["shards=4", "shards × archive.streamMaxBytes is"],
	["nats.storage.size=2Gi", 'nats.storage.size is "2Gi"'],
	["nats.storage.size=2.1G", "may store 2147483648 bytes"],
	["nats.storage.size=large", "a quantity of Kubernetes"],
	["operator.watchNamespaces=null", "Name the namespaces"],
	["operator.watchNamespaces={*,shop}", 'Use ["*"] alone'],
	["api.ingress.enabled=true", "api.ingress.host is empty"],
	["setup.enabled=false", "nats.existingSecret is empty"],
	["receive.repicas=3", "receive.repicas is 3, but there is no such value"],
	["nats.replicas=2", "nats.replicas is 2. Use 1 or 3 or 5"],
	["receive.env.LOG_LEVEL=5", "receive.env.LOG_LEVEL is a number"],
	[
		"image.pullPolicy=Sometimes",
		'image.pullPolicy is "Sometimes". Use "Always" or',
	],
])("%s is refused: %s", async (value, words) => {
	await expect(render(tryOut, ...set(value))).rejects.toThrow(words);
});

test.each(["2.1Gi", "2.2G", "1Ti", "2147483649", "2.2e9", "2097153Ki"])(
	"a volume of %s holds what NATS may store",
	async (size) => {
		const objects = await render(
			tryOut,
			`--set-string=nats.storage.size=${size}`,
		);
		const { volumeClaimTemplates } = named(
			objects,
			"StatefulSet",
			"tidemill-nats",
		).spec;
		expect(volumeClaimTemplates?.[0]?.spec.resources.requests.storage).toBe(
			size,
		);
	},
);

test("without a volume, its size doesn't count", async () => {
	await render(
		tryOut,
		...set("nats.storage.enabled=false", "nats.storage.size=1Gi"),
	);
});

test("without values, the error says which one to set", async () => {
	await expect(render()).rejects.toThrow(
		"--set receive.url=https://hooks.example.com",
	);
});

test("a digest wins over the tag, for Jobs of Runs, too", async () => {
	const digest = `sha256:${"0".repeat(64)}`;
	const objects = await render(
		tryOut,
		...set(`image.digest=${digest}`, "image.registry=registry.example.com"),
	);
	const operator = containerOf(objects, "tidemill-operator");
	const image = `registry.example.com/tidemill/tidemill@${digest}`;
	expect(operator.image).toBe(image);
	expect(variable(operator, "TIDEMILL_IMAGE")).toBe(image);
});

test("receive has time to finish what it accepted after its delay", async () => {
	const objects = await render(
		tryOut,
		...set("receive.shutdownDelaySeconds=40"),
	);
	const { spec } = named(objects, "Deployment", "tidemill-receive").spec
		.template;
	expect(spec.terminationGracePeriodSeconds).toBe(65);
	expect(spec.containers[0].env).toContainEqual({
		name: "RECEIVE_SHUTDOWN_DELAY_MS",
		value: "40000",
	});
});

test("an autoscaler's receive has no number of replicas of its own", async () => {
	const objects = await render(`--values=${examples.get("aws")}`);
	expect(
		named(objects, "Deployment", "tidemill-receive").spec,
	).not.toHaveProperty("replicas");
	expect(
		named(objects, "HorizontalPodAutoscaler", "tidemill-receive").spec,
	).toMatchObject({ minReplicas: 2, maxReplicas: 10 });
});

test("the processes get the options that keep them small, and a value of one's own wins", async () => {
	const objects = await render(
		tryOut,
		...set("archive.env.MALLOC_ARENA_MAX=x"),
	);
	const archive = containerOf(objects, "tidemill-archive");
	expect(variable(archive, "MALLOC_ARENA_MAX")).toBe("x");
	expect(variable(archive, "MALLOC_TRIM_THRESHOLD_")).toBe("131072");
	const receive = containerOf(objects, "tidemill-receive");
	expect(variable(receive, "NODE_OPTIONS")).toContain(
		"--max-old-space-size=1024",
	);
});

test.each([
	["2Gi", "1717986918"],
	["3e9", "2400000000"],
	["1500M", "1200000000"],
])(
	"NATS collects its garbage before it takes its limit of memory: of %s",
	async (memory, most) => {
		const natsWith = async (...args: string[]) =>
			named(await render(tryOut, ...args), "StatefulSet", "tidemill-nats").spec
				.template.spec.containers[0];
		const limit = `--set-string=nats.resources.limits.memory=${memory}`;
		const nats = await natsWith(limit);
		expect(nats.resources.limits.memory).toBe(memory);
		expect(variable(nats, "GOMEMLIMIT")).toBe(most);
		const own = await natsWith(limit, ...set("nats.env.GOMEMLIMIT=1GiB"));
		expect(variable(own, "GOMEMLIMIT")).toBe("1GiB");
		const unlimited = await natsWith(...set("nats.resources.limits=null"));
		expect(variable(unlimited, "GOMEMLIMIT")).toBeUndefined();
	},
);

test("a reloader lets the bundled NATS read changed passwords and certificates, finds its process, and makes streams as archive", async () => {
	const podOf = async (...args: string[]) =>
		(await render(tryOut, ...args)).find(
			({ kind, metadata }) =>
				kind === "StatefulSet" && metadata.name === "tidemill-nats",
		)!.spec.template.spec;
	const { shareProcessNamespace, initContainers, containers } = await podOf();
	expect(shareProcessNamespace).toBe(true);
	const reloader = initContainers![0]!;
	const nats = containers[0]!;
	// It finds the process by these.
	expect(nats.args).toEqual(["--config", "/etc/nats/nats.conf"]);
	expect(reloader.args).toContain("--config=/etc/nats/nats.conf");
	expect(reloader.args).toContain("--tls=/etc/nats-tls");
	const inClear = await podOf(...set("nats.tls.enabled=false"));
	expect(inClear.initContainers![0]!.args.join()).not.toContain("--tls");
	const { env } = reloader;
	expect(
		Object.fromEntries(env!.map(({ name, value }) => [name, value])),
	).toMatchObject({
		NATS_URL: "tls://tidemill-nats:4222",
		NATS_USERS_DIR: "/etc/nats-archive",
		STREAM_REPLICAS: "1",
	});
});

test("no process gets a Secret by a variable or a subPath, so a changed one reaches it; only the bundled store reads variables", async () => {
	for (const values of examples.values()) {
		const objects = await render(`--values=${values}`);
		const containers = objects
			.filter(
				({ kind, metadata }) =>
					["Deployment", "StatefulSet", "Job"].includes(kind) &&
					metadata.name !== "tidemill-s3",
			)
			.flatMap(({ spec }) => [
				...(spec.template.spec.initContainers ?? []),
				...spec.template.spec.containers,
			]);
		expect(containers.length).toBeGreaterThan(4);
		const text = JSON.stringify(containers);
		for (const word of ["secretKeyRef", "secretRef", "subPath"])
			expect(text).not.toContain(word);
	}
});

test("each shard belongs to one Deployment of archive, and one that is added leaves the others alone", async () => {
	const values = `--values=${examples.get("gateway-and-shards")}`;
	const [before, objects] = await Promise.all([
		render(values),
		render(values, ...set("shards=9")),
	]);
	const archives = (rendered: typeof objects) =>
		rendered.filter(
			({ kind, metadata }) =>
				kind === "Deployment" && metadata.name.includes("-archive"),
		);
	expect(archives(objects).slice(0, 2)).toEqual(archives(before));
	for (const part of ["receive", "operator"])
		expect(
			variable(containerOf(objects, `webhooks-${part}`), "TIDEMILL_SHARDS"),
		).toBe("9");
	const shards = archives(objects).map(({ metadata, spec }) => [
		metadata.name,
		variable(spec.template.spec.containers[0], "ARCHIVE_SHARDS"),
	]);
	expect(shards).toEqual([
		["webhooks-archive", "0,1,2,3"],
		["webhooks-archive-1", "4,5,6,7"],
		["webhooks-archive-2", "8"],
	]);
});

test("only a binding of all namespaces lets the operator into all of them", async () => {
	const bindings = async (...args: string[]) =>
		(await render(tryOut, ...args))
			.filter(({ kind, roleRef }) =>
				/RoleBinding$/.test(kind)
					? roleRef.name === "tidemill-system:tidemill-operator-in-namespace"
					: false,
			)
			.map(({ kind, metadata }) => [kind, metadata.namespace]);
	expect(
		await bindings(...set("operator.watchNamespaces={shop,billing}")),
	).toEqual([
		["RoleBinding", "shop"],
		["RoleBinding", "billing"],
	]);
	expect(await bindings(...set("operator.watchNamespaces={*}"))).toEqual([
		["ClusterRoleBinding", undefined],
	]);
});

test("the custom resource definitions and their guard stay when the release goes, unless told otherwise", async () => {
	const policies = async (...args: string[]) =>
		(await render(tryOut, ...args))
			.filter(
				({ kind, metadata }) =>
					kind === "CustomResourceDefinition" ||
					metadata.name === "tidemill-crds",
			)
			.map(({ metadata }) => metadata.annotations?.["helm.sh/resource-policy"]);
	expect(await policies()).toEqual(Array(10).fill("keep"));
	// No policy changes what it admits there.
	expect(await policies("--kube-version=1.35.0")).toHaveLength(8);
	expect(await policies(...set("crds.keep=false"))).toEqual(
		Array(10).fill(undefined),
	);
	expect(await policies(...set("crds.enabled=false"))).toEqual([]);
});

test("setup may read and change only the Secrets of this release", async () => {
	const objects = await render(tryOut);
	expect(named(objects, "Role", "tidemill-setup").rules).toEqual([
		{ apiGroups: [""], resources: ["secrets"], verbs: ["create"] },
		{
			apiGroups: [""],
			resources: ["secrets"],
			resourceNames: [
				"tidemill-nats-passwords",
				"tidemill-nats-tls",
				"tidemill-nats-tls-authority",
				"tidemill-seal-key",
				"tidemill-console-key",
				"tidemill-s3",
			],
			verbs: ["get", "patch"],
		},
	]);
});

test("the console is served by the names of its routes, and its sessions are sealed by a Secret of the release", async () => {
	const api = async (values: string[], example = tryOut) => {
		const objects = await render(example, ...values);
		const container = containerOf(objects, "tidemill-api");
		const { volumes } = objects.find(
			({ kind, metadata }) =>
				kind === "Deployment" && metadata.name === "tidemill-api",
		)!.spec.template.spec as { volumes: { name: string; secret?: object }[] };
		const value = (name: string) => variable(container, name);
		return {
			serves: value("API_CONSOLE"),
			hosts: value("API_CONSOLE_HOSTS"),
			key: value("API_CONSOLE_SEAL_KEY"),
			secret: volumes.find(({ name }) => name === "seal-key")?.secret,
		};
	};
	const names = set(
		"api.ingress.host=api.example.com",
		"api.ingress.extraHosts={a.example.com}",
		"api.httpRoute.hostnames={g.example.com}",
		"api.console.hosts={c.example.com}",
	);
	expect(await api(names)).toMatchObject({
		serves: "true",
		hosts: "api.example.com,a.example.com,g.example.com,c.example.com",
		key: "/etc/tidemill/console/seal-key",
		secret: { secretName: "tidemill-console-key", optional: true },
	});
	expect(await api(set("api.console.existingSecret=own"))).toMatchObject({
		secret: { secretName: "own" },
	});
	const issuer = set(
		"api.console.oidc.issuer=https://login.example.com",
		"api.console.oidc.clientId=tidemill",
		"api.console.oidc.existingSecret=client",
	);
	const objects = await render(tryOut, ...issuer);
	const container = containerOf(objects, "tidemill-api");
	expect(
		["ISSUER", "CLIENT_ID", "CLIENT_SECRET", "SCOPES"].map((name) =>
			variable(container, `API_CONSOLE_OIDC_${name}`),
		),
	).toEqual([
		"https://login.example.com",
		"tidemill",
		"/etc/tidemill/oidc/client-secret",
		"openid profile email",
	]);
	await expect(render(tryOut, issuer[0]!)).rejects.toThrow(
		/api\.console\.oidc\.clientId is empty/,
	);
	// Without setup nobody makes the Secret, and replicas wouldn't know each other's sessions.
	const ownSecrets = `--values=${examples.get("own-nats-and-store")}`;
	for (const [example, ...off] of [
		[tryOut, "api.console.enabled=false"],
		[ownSecrets, "setup.enabled=false", "api.console.existingSecret="],
	] as [string, ...string[]][])
		expect(await api(set(...off), example)).toEqual({
			serves: "false",
			hosts: undefined,
			key: undefined,
			secret: undefined,
		});
});

test("with Secrets of one's own there is no setup", async () => {
	const objects = await render(
		`--values=${examples.get("own-nats-and-store")}`,
	);
	expect(
		objects.filter(({ metadata }) =>
			metadata.name.startsWith("tidemill-setup"),
		),
	).toEqual([]);
	const archive = containerOf(objects, "tidemill-archive");
	expect(variable(archive, "NATS_URL")).toBe(
		"tls://nats-0.example.com:4222,tls://nats-1.example.com:4222,tls://nats-2.example.com:4222",
	);
});

test("the chart accepts the values that Argo CD, Flux and kind get", async () => {
	const documents = (path: string) =>
		parseAllDocuments(readFileSync(join(chart, "../../examples", path), "utf8"))
			.map((document) => document.toJS())
			.filter(Boolean);
	const application = documents("argocd/apps/tidemill.yaml").find(
		({ kind }) => kind === "Application",
	);
	const sources = application.spec.sources ?? [application.spec.source];
	const release = documents("flux/tidemill.yaml").find(
		({ kind }) => kind === "HelmRelease",
	);
	const given = [
		...sources.map(
			({ helm }: { helm: { valuesObject: unknown } }) => helm.valuesObject,
		),
		release.spec.values,
		...documents("kind/values.yaml"),
	];
	expect(given).toHaveLength(3);
	const directory = await mkdtemp(join(tmpdir(), "values-"));
	for (const [i, values] of given.entries()) {
		const file = join(directory, `${i}.yaml`);
		await writeFile(file, stringify(values));
		expect((await render(`--values=${file}`)).length).toBeGreaterThan(30);
	}
});

test("the chart's versions are those of the package", () => {
	const version = (file: string) =>
		readFileSync(join(chart, file), "utf8").match(
			/"?\b(?:appV|v)ersion"?: "?([\d.]+)/gi,
		);
	expect(
		new Set(version("Chart.yaml")!.map((line) => line.split(" ")[1])),
	).toEqual(
		new Set([
			JSON.parse(readFileSync(join(chart, "../../package.json"), "utf8"))
				.version,
		]),
	);
});

function named(objects: Rendered[], kind: string, name: string): Rendered {
	return objects.find(
		(object) => object.kind === kind && object.metadata.name === name,
	)!;
}

function containerOf(objects: Rendered[], deployment: string) {
	return named(objects, "Deployment", deployment).spec.template.spec
		.containers[0];
}

function variable(
	container: { env: { name: string; value?: string }[] },
	name: string,
) {
	return container.env.find((each) => each.name === name)?.value;
}
