import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import {
	type DestinationSpec,
	destinationKind,
	pipelineKind,
	sourceKind,
	trackingPlanKind,
} from "../crds/generated/types.ts";
import { label } from "../crds/labels.ts";
import { providers } from "../packages/contracts/providers.ts";
import { shellWord } from "../packages/escapes/shell.ts";
import { quoted } from "../packages/warehouses/definition/definition.ts";
import { warehouses } from "../packages/warehouses/registry.ts";
import { CommandError, UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print, remark } from "./command/output.ts";
import { ask } from "./command/question.ts";
import { boundTo, specOf as destinationSpecOf } from "./destinations.ts";
import {
	checkSchedule,
	specOf as pipelineSpecOf,
	type ScheduleOptions,
} from "./pipelines.ts";
import { providerNamed, webhookOf } from "./provider/providers.ts";
import { planOf } from "./provider/sender.ts";
import { manifestOf, manifestsText } from "./resource/creation.ts";

/** `tidemill init`. */
export function define(init: CommandGroup): void {
	init
		.argument("[file]", "what to write", "tidemill.yaml")
		.addHelpText(...examples("tidemill init", "tidemill init stripe.yaml"))
		.action(async (file) => {
			if (!process.stdin.isTTY)
				throw new UsageError(
					"init asks questions in a terminal. In a script, use: tidemill sources create <name> --provider <provider> --dry-run -o yaml, and the same for destinations and pipelines",
				);
			if (existsSync(file))
				throw new CommandError(
					`${file} is there already. Name another file: tidemill init <file>`,
				);
			const answers = await answersOf(
				(question) => ask(question),
				(mistake) => remark(`${mistake}\n`),
			);
			await writeFile(file, await manifestsOf(answers), { flag: "wx" });
			print(`${file} written\n`);
			remark(await nextSteps(file, answers));
		});
}

export interface InitAnswers {
	provider: string;
	source: string;
	warehouse: string;
	table: string;
	schedule: string;
}

const warehouseAnswers = [...warehouses.values()].map(({ cli }) => cli);

/** Each with its question, what it is without an answer, and what finds a mistake in it. */
const questions: {
	name: keyof InitAnswers;
	text: string;
	preset: (before: Partial<InitAnswers>) => string;
	check: (answer: string) => unknown;
}[] = [
	{
		name: "provider",
		text: `Who sends the events? (${Object.keys(providers).join(", ")})`,
		preset: () => "stripe",
		check: providerNamed,
	},
	{
		name: "source",
		text: "What is the source called?",
		preset: ({ provider = "" }) => provider,
		check: (name) => {
			if (!/^[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?$/.test(name))
				throw new UsageError(
					"A name has at most 40 lower-case letters, digits and '-', and starts and ends with a letter or digit.",
				);
		},
	},
	{
		name: "warehouse",
		text: `Where does the table go? (${warehouseAnswers.map(({ answer }) => answer).join(", or ")})`,
		preset: () => "warehouse.duckdb",
		check: destinationOf,
	},
	{
		name: "table",
		text: "What is the table called?",
		preset: ({ source = "" }) => source.replaceAll("-", "_"),
		check: (table) => {
			if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(table))
				throw new UsageError(
					"A table's name has only letters, digits and '_', and doesn't start with a digit.",
				);
		},
	},
	{
		name: "schedule",
		text: "When is it loaded? (an interval such as 15m, a time of day such as 06:30, or manual)",
		preset: () => "15m",
		check: (schedule) => checkSchedule(scheduleOptions(schedule)),
	},
];

/** Asks again after a mistake. */
export async function answersOf(
	askFor: (question: string) => Promise<string>,
	report: (mistake: string) => void,
): Promise<InitAnswers> {
	const answers: Partial<InitAnswers> = {};
	for (const { name, text, preset, check } of questions) {
		while (answers[name] === undefined) {
			const standard = preset(answers);
			const answer = (await askFor(`${text} [${standard}] `)) || standard;
			try {
				await check(answer);
				answers[name] = answer;
			} catch (error) {
				if (!(error instanceof UsageError)) throw error;
				report(error.message);
			}
		}
	}
	return answers as InitAnswers;
}

const destination = "warehouse";
const destinationSecret = `${destination}-secret`;

/** Throws {@link UsageError}. */
function destinationOf(warehouse: string): DestinationSpec {
	const cli = warehouseAnswers.find(({ answers }) => answers.test(warehouse));
	if (!cli)
		throw new UsageError(
			`${quoted(warehouse)} is none of these: ${warehouseAnswers.map(({ answer }) => answer).join(", ")}`,
		);
	const [, option = ""] = /^--(\w+)/.exec(cli.flags) ?? [];
	const isServer = /:\/\//.test(warehouse);
	return destinationSpecOf(
		{ [option]: warehouse },
		isServer ? destinationSecret : undefined,
	)!;
}

function scheduleOptions(schedule: string): ScheduleOptions {
	if (schedule === "manual") return {};
	return schedule.includes(":") ? { daily: schedule } : { every: schedule };
}

/** Nobody knows it by heart. */
const exampleTopic = "arn:aws:sns:eu-west-1:123456789012:orders";

/** The YAML of what the answers describe. */
export async function manifestsOf(answers: InitAnswers): Promise<string> {
	const { source, warehouse, table, schedule } = answers;
	const provider = await providerNamed(answers.provider);
	const webhook = {
		...webhookOf(provider, `${source}-secret`, [exampleTopic]),
		...(provider.eventType && { trackingPlanRef: { name: source } }),
	};
	const name = (name: string) => ({ metadata: { name } });
	return manifestsText(
		[
			...(provider.eventType
				? [manifestOf(trackingPlanKind, planOf(source, provider))]
				: []),
			manifestOf(sourceKind, {
				...name(source),
				spec: {
					type: "Webhook",
					...(Object.keys(webhook).length > 0 && { webhook }),
				},
			}),
			manifestOf(destinationKind, {
				...name(destination),
				spec: destinationOf(warehouse),
			}),
			manifestOf(pipelineKind, {
				...name(source),
				spec: pipelineSpecOf({
					...{ source, destination, table },
					...scheduleOptions(schedule),
				})!,
			}),
		],
		"yaml",
	);
}

async function nextSteps(
	file: string,
	{ provider: name, source, warehouse }: InitAnswers,
): Promise<string> {
	const { title, paste, secret } = await providerNamed(name);
	const hosts = Object.entries(boundTo(destinationOf(warehouse)));
	const login = hosts.map(
		([annotation, address]) =>
			`  kubectl create secret generic ${destinationSecret} --from-literal=username=NAME --from-file=password=/dev/stdin   # the password, and Ctrl-D twice
  kubectl label secret ${destinationSecret} ${label.use}=true
  kubectl annotate secret ${destinationSecret} ${shellWord(`${annotation}=${address}`)}\n`,
	);
	return `
Next:
${name === "sns" ? `  Put your topics into topicARNs of ${file}.\n` : ""}${login.join("")}  kubectl apply -f ${shellWord(file)}
${secret ? `  tidemill sources set-secret ${source} --secret-stdin   # ${secret}\n` : ""}  kubectl get source ${source} -o jsonpath={.status.webhookURL}   # the URL

Give the URL to ${title}: ${paste}.
`;
}
