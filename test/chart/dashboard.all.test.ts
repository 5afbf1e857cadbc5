// On a laptop nothing proves this: Prometheus and Helm are built for minutes.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { dashboard, dashboardQueries } from "../support/alerts/dashboard.ts";
import {
	examples,
	render,
	renderRelease,
	renderText,
} from "../support/chart/render.ts";
import type { Rendered } from "../support/chart/rendered.ts";

const tryOut = `--values=${examples.get("try-out")}`;

test("each metric of the dashboard exists", () => {
	const page = readFileSync(
		join(import.meta.dirname, "../../docs/reference/metrics.md"),
		"utf8",
	);
	const names = dashboardQueries.flatMap(
		({ expr }) =>
			expr.match(
				/\b(?:tidemill|controller_runtime|leader_election|workqueue)_\w+/g,
			) ?? [],
	);
	expect(names.length).toBeGreaterThan(20);
	expect(
		names.filter(
			(name) => !page.includes(`\`${name.replace(/_bucket$/, "")}\``),
		),
	).toEqual([]);
});

test("each panel shows one release alone", () => {
	const mixed = dashboardQueries.filter(({ expr }) => {
		const metrics = expr.match(
			/\b(?:tidemill|controller_runtime|leader_election|workqueue)_\w+(?:\{[^}]*\})?/g,
		);
		return !metrics?.every((each) =>
			each.includes(
				'{namespace="tidemill-system",app_kubernetes_io_instance="tidemill"',
			),
		);
	});
	expect(mixed).toEqual([]);
	const one = dashboard.templating.list.filter(({ type }) => type === "query");
	expect(one.map(({ name }) => name)).toEqual(["namespace", "release"]);
	expect(one.filter(({ multi, includeAll }) => multi || includeAll)).toEqual(
		[],
	);
});

test("each panel says what it shows", () => {
	const silent = dashboard.panels.filter(
		({ targets, description }) => targets && !description,
	);
	expect(silent).toEqual([]);
});

test("the chart gives the dashboard to Grafana's sidecar if it is wanted", async () => {
	const named = (objects: Rendered[]) =>
		objects.filter(({ metadata }) => metadata.name === "tidemill-dashboard");
	expect(named(await render(tryOut))).toEqual([]);
	const [found, ...others] = named(
		await render(tryOut, "--set=metrics.dashboard.enabled=true"),
	);
	expect(others).toEqual([]);
	expect(found).toMatchObject({
		kind: "ConfigMap",
		metadata: { labels: { grafana_dashboard: "1" } },
	});
	expect(dashboardIn(found!)).toMatchObject({
		...dashboard,
		uid: expect.any(String),
		title: "Tidemill (tidemill-system/tidemill)",
	});
});

test("two releases in one Grafana have a dashboard each", async () => {
	const of = async (release: string, namespace: string) => {
		const objects = await renderRelease(
			release,
			namespace,
			tryOut,
			"--set=metrics.dashboard.enabled=true",
		);
		return dashboardIn(
			objects.find(({ metadata }) => metadata.name.endsWith("-dashboard"))!,
		);
	};
	const own = await of("tidemill", "tidemill-system");
	const others = [
		await of("tidemill", "tidemill-two"),
		await of("tidemill-two", "tidemill-system"),
	];
	for (const { uid, title, ...rest } of others) {
		expect(uid).toMatch(/^tidemill-[0-9a-f]{8}$/);
		expect([own.uid, own.title]).not.toContain(uid);
		expect(title).not.toBe(own.title);
		expect(own).toMatchObject(rest);
	}
	expect(new Set(others.map(({ uid }) => uid)).size).toBe(2);
});

function dashboardIn({ data }: Rendered): { uid: string; title: string } {
	return JSON.parse(data["tidemill.json"]!);
}

test("the chart names the collector of traces to receive, archive and operator, and to nobody unless it is set", async () => {
	const tracedBy = async (...args: string[]) =>
		(await render(tryOut, ...args))
			.filter(({ kind }) => kind === "Deployment")
			.flatMap(({ spec }) => spec.template.spec.containers)
			.filter(({ env }) =>
				env?.some(
					({ name, value }) =>
						name === "OTEL_EXPORTER_OTLP_ENDPOINT" &&
						value === "http://collector:4318",
				),
			)
			.map(({ name }) => name)
			.toSorted();
	expect(
		await tracedBy("--set=tracing.endpoint=http://collector:4318"),
	).toEqual(["archive", "operator", "receive"]);
	expect((await renderText(tryOut)).includes("OTEL_")).toBe(false);
});
