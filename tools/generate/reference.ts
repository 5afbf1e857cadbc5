import { readFileSync } from "node:fs";
import { join } from "node:path";
import { endpoints } from "../../api/endpoints.ts";
import { errorCodes } from "../../api/http/errors.ts";
import { apiResources } from "../../api/resources/api-resource.ts";
import { readResourceSchemas } from "../../crds/resource-schema.ts";
import { alarms } from "../../ingest/archive/decide/alarm.ts";
import { requestErrors } from "../../ingest/lake/request/errors.ts";
import { refusals } from "../../ingest/receive/request/refusal.ts";
import { jobEndings } from "../../operator/jobs/outcome.ts";
import { operationErrors } from "../../operator/operation/transition.ts";
import { runErrors } from "../../operator/pipeline/plan-dates.ts";
import {
	installationEventReasons,
	kubeEventReasons,
	reasons,
} from "../../operator/reconcile/reasons.ts";
import { schemaExceptions } from "../../packages/tracking-plan/exceptions.ts";
import { formatNames } from "../../packages/tracking-plan/metered/formats.ts";
import { drafts } from "../../packages/tracking-plan/schemas.ts";
import { jobErrors } from "../../packages/warehouses/load/failure.ts";
import { warehouses } from "../../packages/warehouses/registry.ts";
import { commandHelp } from "./cli-page.ts";
import { table } from "./markdown.ts";
import { metricTables } from "./metrics-page.ts";
import { resourceList } from "./resources-page.ts";

const code = (text: string) => `\`${text}\``;

/** What the pages that people write have of the code, by the name in the comments around it. */
export const referenceParts: Record<string, () => string> = {
	"README.md": quickStart,
	"api/endpoints.ts": () =>
		textOf(
			["Request", "What it does", "Answer"],
			endpoints.map(({ method, path, summary, answers }) => [
				code(`${method} ${path}`),
				summary,
				Object.keys(answers).join(" or "),
			]),
		),
	"api/http/errors.ts": () =>
		textOf(
			["Status", "Code", "What to do"],
			Object.entries(errorCodes).map(([name, { status, advice }]) => [
				status,
				code(name),
				advice,
			]),
		),
	"api/resources/secret-fields.ts": () =>
		apiResources
			.flatMap(({ secretFields }) => secretFields)
			.map(
				({ at, inline, beside }) =>
					`- ${code([...at, inline].join("."))}${beside ? `, and ${code(beside.inline)} beside it` : ""}\n`,
			)
			.join(""),
	"cli/*.ts": commandHelp,
	"charts/tidemill/files/crds/*.yaml": () =>
		resourceList(readResourceSchemas()),
	"ingest/archive/decide/alarm.ts": () => pairs(["Code", "What to do"], alarms),
	"ingest/lake/request/errors.ts": () => retries(requestErrors),
	"ingest/receive/request/refusal.ts": () =>
		textOf(
			["Status", "Code", "Message"],
			Object.values(refusals).map(({ status, code: name, message }) => [
				status,
				code(name),
				message,
			]),
		),
	"operator/jobs/outcome.ts": () => pairs(["Code", "Meaning"], jobEndings),
	"operator/operation/transition.ts": () =>
		pairs(["Code", "What to do"], { ...operationErrors, ...runErrors }),
	"operator/reconcile/reasons.ts": () =>
		Object.entries(reasons)
			.flatMap(([kind, types]) =>
				Object.entries(types).map(([type, meanings]) =>
					meaningsOf(`${kind}: ${type}`, meanings),
				),
			)
			.join("\n"),
	"operator/reconcile/reasons.ts(events)": () =>
		[
			...Object.entries(kubeEventReasons).map(([kind, own]) => {
				const types: Record<string, Record<string, string>> = reasons[
					kind as keyof typeof reasons
				];
				return meaningsOf(kind, { ...own, ...types.Ready });
			}),
			meaningsOf("The operator's Deployment", installationEventReasons),
		].join("\n"),
	"packages/tracking-plan/exceptions.ts": () =>
		textOf(
			["What", "What holds instead"],
			schemaExceptions.map(({ what, reason }) => [what, reason]),
		),
	"packages/tracking-plan/metered/formats.ts": () =>
		`${formatNames.map(code).join(", ")}\n`,
	"packages/tracking-plan/schemas.ts": () =>
		drafts.map(({ uri, title }) => `- ${title}: ${code(uri)}\n`).join(""),
	"packages/warehouses/*/definition.ts": () =>
		[...warehouses.values()]
			.map(({ noun, errors }) => `With ${noun}, also:\n\n${retries(errors)}`)
			.join("\n"),
	"packages/warehouses/load/failure.ts": () => retries(jobErrors),
	...metricTables,
};

function textOf(head: string[], rows: unknown[][]): string {
	return table(head, rows).join("\n");
}

function pairs(head: [string, string], of: Record<string, string>): string {
	return textOf(
		head,
		Object.entries(of).map(([name, words]) => [code(name), words]),
	);
}

function meaningsOf(title: string, meanings: Record<string, string>): string {
	return `## ${title}\n\n${pairs(["Reason", "Meaning"], meanings)}`;
}

function retries(
	errors: Record<string, { retryable: boolean; advice: string }>,
): string {
	return textOf(
		["Code", "Tried again", "What to do"],
		Object.entries(errors).map(([name, { retryable, advice }]) => [
			code(name),
			retryable ? "yes" : "no",
			advice,
		]),
	);
}

/** The README's section, for those who begin at the site. */
function quickStart(): string {
	const file = join(import.meta.dirname, "../../README.md");
	const [, section] = /^## Quick start\n\n(.*?)\n^## /ms.exec(
		readFileSync(file, "utf8"),
	)!;
	return section!
		.replaceAll("](docs/", "](")
		.replaceAll(/\]\((?!https?:|#)(?=[a-z]+\/)/g, "](../");
}
