// On a laptop nothing proves this: Helm is built for minutes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, expect, test } from "vitest";
// yaml: reads YAML 1.2 to the letter.
import { parse } from "yaml";
import { chart, examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";
import { tryOut } from "../support/chart/try-out.ts";

/* What the docs tell people to install first. */

let objects: Rendered[];

beforeAll(async () => {
	objects = await render(`--values=${tryOut.values}`);
});

test("the documented values are those of the chart's example", () => {
	const example = readFileSync(examples.get("try-out")!, "utf8");
	expect(parse(tryOut.text)).toEqual(parse(example));
});

test("an installation to try out, its setup and tests, and a Run's Job ask for one CPU and 2 GiB at most", () => {
	const pods = objects.flatMap((object) => {
		const pod =
			object.kind === "Pod" ? object.spec : object.spec?.template?.spec;
		const { replicas = 1 } = (object.spec ?? {}) as { replicas?: number };
		return pod ? Array<typeof pod>(replicas).fill(pod) : [];
	});
	// Each part, with receive twice, setup and the test.
	expect(pods.length).toBe(10);
	const requested = (resource: "cpu" | "memory") =>
		pods
			.map(({ containers, initContainers = [] }) => {
				const of = ({ resources }: (typeof containers)[number]) =>
					quantity(resources.requests[resource]!);
				const sum = (all: typeof initContainers) =>
					all.map(of).reduce((a, b) => a + b, 0);
				// An initial container has gone before the others begin, unless it runs beside them.
				const beside = initContainers.filter(
					({ restartPolicy }) => restartPolicy === "Always",
				);
				const before = initContainers.filter((each) => !beside.includes(each));
				return sum(beside) + Math.max(sum(containers), ...before.map(of));
			})
			.reduce((a, b) => a + b, quantity(ofRun[resource]));
	const [cores, bytes] = [requested("cpu"), requested("memory")];
	console.log(`try-out: ${cores.toFixed(2)} CPUs, ${bytes / 2 ** 20} MiB`);
	expect(cores).toBeLessThanOrEqual(1);
	expect(bytes).toBeLessThanOrEqual(2 * 2 ** 30);
});

test("its volumes are as large as the docs say", () => {
	const sizes = objects
		.flatMap(({ spec }) => spec?.volumeClaimTemplates ?? [])
		.map(({ spec }) => quantity(spec.resources.requests.storage));
	const gibibytes = sizes.reduce((a, b) => a + b, 0) / 2 ** 30;
	expect(tryOut.section).toContain(
		`${gibibytes} GiB, of the cluster's default`,
	);
});

test.each([
	"docs/install.md",
	"docs/troubleshooting.md",
	"charts/tidemill/templates/NOTES.txt",
])(
	"%s names the command that says why an installation doesn't come up",
	(file) => {
		const text = readFileSync(join(chart, "../..", file), "utf8");
		const doctor = text.indexOf("tidemill doctor --namespace");
		expect(doctor).toBeGreaterThan(0);
		// Before any other way to look.
		const others = [
			"kubectl rollout status",
			"kubectl describe pod",
			"kubectl logs",
			"kubectl get events",
		];
		for (const other of others)
			if (text.includes(other))
				expect(text.indexOf(other)).toBeGreaterThan(doctor);
	},
);

test("what a release prints leads to receive before it sends an event there, and on to a table", () => {
	const notes = readFileSync(join(chart, "templates/NOTES.txt"), "utf8");
	const steps = ["kind: Source", "port-forward", "curl -d", "want-a-table.md"];
	const places = steps.map((step) => notes.indexOf(step));
	expect(places).not.toContain(-1);
	expect(places).toEqual(places.toSorted((a, b) => a - b));
});

/** Jobs ask for nothing by themselves. These are the resources that docs/jobs.md recommends, and install.md counts. */
const ofRun = { cpu: "250m", memory: "512Mi" };

test("the docs count a Run's Job by what they recommend for it", () => {
	const jobs = readFileSync(join(chart, "../../docs/jobs.md"), "utf8");
	expect(jobs).toContain(
		`requests: { cpu: ${ofRun.cpu}, memory: ${ofRun.memory} }`,
	);
	expect(tryOut.section).toContain(`${ofRun.cpu} and ${ofRun.memory}`);
});

function quantity(text: string): number {
	const [, number, unit = ""] = /^([\d.]+)(m|Mi|Gi)?$/.exec(text)!;
	const factors: Record<string, number> = { m: 1e-3, Mi: 2 ** 20, Gi: 2 ** 30 };
	return Number(number) * (factors[unit] ?? 1);
}
