// On a laptop nothing proves this: Helm is built for minutes.
import { globSync } from "node:fs";
import { basename, join } from "node:path";
import { expect, test } from "vitest";
import { commandsIn, runbookOf } from "../support/alerts/runbook.ts";
import { examples, render } from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";

/* What a runbook's commands name is there in an installation. */

const objects = await render(
	`--values=${examples.get("try-out")}`,
	"--set=nats.replicas=3",
	"--set=nats.tls.enabled=true",
);
const workloads = objects.filter(({ kind }) =>
	/^(Deployment|StatefulSet)$/.test(kind),
);
const alerts = globSync("*.md", {
	cwd: join(import.meta.dirname, "../../docs/runbooks"),
}).map((file) => basename(file, ".md"));

const componentOf = ({ spec }: Rendered) =>
	spec.template.metadata?.labels["app.kubernetes.io/component"];

const containersOf = ({ spec }: Rendered) => [
	...spec.template.spec.containers,
	...(spec.template.spec.initContainers ?? []),
];

/** The workloads that a command is about: by a selector, by kind and name, or by a Pod's name. */
function namedBy(command: string): Rendered[] {
	const [, component] =
		/--selector app\.kubernetes\.io\/component=(\w+)/.exec(command) ?? [];
	const [, kind, name] =
		/\b(deployment|statefulset)\/([\w-]+)/.exec(command) ?? [];
	const [, set] = /(?<!data-)\b(tidemill-\w+)-0\b/.exec(command) ?? [];
	return workloads.filter(
		(each) =>
			(component === undefined || componentOf(each) === component) &&
			(kind === undefined || each.kind.toLowerCase() === kind) &&
			(name === undefined || each.metadata.name === name) &&
			(set === undefined || each.metadata.name === set),
	);
}

const commands = alerts.flatMap((alert) =>
	commandsIn(runbookOf(alert)).map((command) => ({ alert, command })),
);

test.each(
	commands.filter(({ command }) =>
		command.includes("--namespace tidemill-system"),
	),
)("$alert: $command is about what is installed", ({ command }) => {
	const named = namedBy(command);
	expect(named).not.toEqual([]);
	const [, container] = /--container ([\w-]+)/.exec(command) ?? [];
	if (container !== undefined)
		expect(named.flatMap(containersOf).map(({ name }) => name)).toContain(
			container,
		);
	const [, port] = /port-forward .* (\d+) &/.exec(command) ?? [];
	if (port !== undefined)
		expect(
			named
				.flatMap(containersOf)
				.flatMap(({ ports = [] }) => ports.map((each) => each.containerPort)),
		).toContain(Number(port));
});

test("each volume that a runbook names is one of the installation's", () => {
	const named = commands.flatMap(({ command }) =>
		[...command.matchAll(/data-(tidemill-\w+)-0/g)].map(([, name]) => name),
	);
	expect(new Set(named)).toEqual(new Set(["tidemill-nats"]));
	const claims = workloads.find(
		({ metadata }) => metadata.name === "tidemill-nats",
	)!.spec.volumeClaimTemplates!;
	expect(claims).toMatchObject([{ metadata: { name: "data" } }]);
});
