import { expect, test } from "vitest";
import { jobExitCode, jobPaths } from "../../contracts/job.ts";
import { jobSpec } from "./template.ts";

const spec = jobSpec({
	command: "load",
	image: "tidemill:1",
	labels: { "tidemill.dev/run": "r" },
	inputSecret: "r-input",
	warehouse: { volumeClaimName: "files" },
	retries: 2,
});
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

test("a permanent error fails the Job at once; a disruption takes no retry", () => {
	expect(spec.backoffLimit).toBe(2);
	expect(spec.podFailurePolicy?.rules).toEqual([
		expect.objectContaining({ action: "Ignore" }),
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

test("every path the process is told of is mounted", () => {
	const mounts = container.volumeMounts!.map((mount) => mount.mountPath);
	const told = [
		...container.env!.map((variable) => variable.value!),
		container.args![2]!,
	];
	for (const path of told)
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
