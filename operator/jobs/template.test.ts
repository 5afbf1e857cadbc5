import { expect, test } from "vitest";
import { runKind } from "../../crds/generated/types.ts";
import { jobExitCode, jobPaths } from "../../packages/contracts/job.ts";
import { runOf } from "../../test/support/examples/resource-examples.ts";
import { jobWithInput } from "./template.ts";

const owner = runOf("r");
const input = {
	version: 1,
	account: "shop",
	destination: { type: "DuckDB", path: "events.duckdb" },
} as const;
const labels = { "tidemill.dev/run": "r" };
const { job, secret } = jobWithInput(
	{ kind: runKind, owner, jobName: "r", secretName: "r-input", labels },
	input,
	{
		command: "load",
		image: "tidemill:1",
		volume: { volumeClaimName: "files" },
		pod: { resources: { requests: { cpu: 1 }, limits: { memory: "1Gi" } } },
		retries: 2,
	},
);
const spec = job.spec!;
const pod = spec.template.spec!;
const container = pod.containers[0]!;

test("a Job's Pod satisfies the restricted Pod Security Standard and gets no token", () => {
	expect(pod.automountServiceAccountToken).toBe(false);
	expect(pod.securityContext).toMatchObject({
		runAsNonRoot: true,
		seccompProfile: { type: "RuntimeDefault" },
	});
	expect(container.securityContext).toEqual({
		allowPrivilegeEscalation: false,
		readOnlyRootFilesystem: true,
		capabilities: { drop: ["ALL"] },
	});
});

test("a Job reads its input from a Secret, and the same owner owns both", () => {
	expect(pod.volumes).toContainEqual({
		name: "input",
		secret: { secretName: "r-input" },
	});
	const text = Buffer.from(secret.data!["input.json"]!, "base64").toString();
	expect(JSON.parse(text)).toEqual(input);
	for (const { metadata } of [job, secret])
		expect(metadata).toMatchObject({
			namespace: "shop",
			labels,
			ownerReferences: [{ kind: "Run", uid: "uid-r", controller: true }],
		});
	expect(spec.template.metadata?.labels).toEqual(labels);
});

test("quantities become text, as a Pod has them", () => {
	expect(container.resources).toEqual({
		requests: { cpu: "1" },
		limits: { memory: "1Gi" },
	});
});

test("a permanent error fails the Job at once, and a disruption costs no retry", () => {
	expect(spec.backoffLimit).toBe(2);
	expect(spec.podFailurePolicy?.rules).toEqual([
		{
			action: "Ignore",
			onPodConditions: [{ type: "DisruptionTarget", status: "True" }],
		},
		{
			action: "FailJob",
			onExitCodes: {
				containerName: container.name,
				operator: "In",
				values: [jobExitCode.permanent],
			},
		},
	]);
});

test("every path that the process gets is mounted", () => {
	const mounts = container.volumeMounts!.map((mount) => mount.mountPath);
	const paths = [
		...container.env!.map((variable) => variable.value!),
		container.args![2]!,
	];
	for (const path of paths)
		expect(
			[...mounts, container.terminationMessagePath!].some(
				(mount) => path === mount || path.startsWith(`${mount}/`),
			),
		).toBe(true);
	expect(pod.volumes!.map((volume) => volume.name)).toEqual(
		container.volumeMounts!.map((mount) => mount.name),
	);
	expect(mounts).toContain(jobPaths.warehouse);
});

test("a process that is killed leaves the end of its log", () => {
	expect(container.terminationMessagePolicy).toBe("FallbackToLogsOnError");
});
