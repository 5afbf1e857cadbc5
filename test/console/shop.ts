import { untilKnown } from "../support/senders/http-client.ts";
import type { ConsoleSession } from "./browser.ts";

/** A text that strangers write, and that must stay a text. */
export const hostile = "<img src=x onerror=alert(1)>";

export async function applySourceAndDestination({
	local,
}: ConsoleSession): Promise<void> {
	for (const kind of ["source", "destination"])
		await local.run(
			"kubectl",
			"apply",
			"-f",
			`examples/quickstart/${kind}.yaml`,
		);
	await local.run(
		"kubectl",
		"wait",
		"--for=condition=Ready",
		"--timeout=120s",
		"--all",
		"sources,destinations",
	);
	await untilKnown(await webhookURL({ local }));
}

export async function webhookURL(
	{ local }: Pick<ConsoleSession, "local">,
	source = "shop",
): Promise<string> {
	const { status } = await local.resource<{ status: { webhookURL: string } }>(
		...(["get", "source", source] as const),
	);
	return status.webhookURL;
}

export async function send(
	{ local }: ConsoleSession,
	body: object,
	source = "shop",
): Promise<string> {
	const id = await local.run(
		"tidemill",
		"events",
		"send",
		source,
		"--data",
		JSON.stringify(body),
	);
	return id.trim();
}

export async function createPipeline(
	{ local }: ConsoleSession,
	name: string,
	source = "shop",
): Promise<void> {
	await local.run(
		"tidemill",
		"pipelines",
		"create",
		name,
		`--source=${source}`,
		"--destination=warehouse",
		"--wait",
	);
}

export async function patch(
	{ local }: ConsoleSession,
	name: string,
	spec: object,
): Promise<void> {
	await local.run(
		"kubectl",
		"patch",
		`pipeline/${name}`,
		"--type=merge",
		"-p",
		JSON.stringify({ spec }),
	);
}

export async function rowsOf(
	{ local }: ConsoleSession,
	pipeline: string,
): Promise<object[]> {
	const lines = await local.run(
		"tidemill",
		"sql",
		`--namespace=${local.namespace}`,
		"--format=json",
		`select * from "${pipeline.replaceAll("-", "_")}"`,
	);
	return lines
		.split("\n")
		.filter(Boolean)
		.map((line) => JSON.parse(line) as object);
}
