import { Option } from "@commander-js/extra-typings";
import {
	type Destination,
	type DestinationSpec,
	destinationKind,
} from "../crds/generated/types.ts";
import { annotation } from "../crds/labels.ts";
import type { CliValues } from "../packages/warehouses/definition/definition.ts";
import { warehouses } from "../packages/warehouses/registry.ts";
import { chooseCluster } from "./command/cluster.ts";
import { UsageError } from "./command/errors.ts";
import { type CommandGroup, examples } from "./command/group.ts";
import { print } from "./command/output.ts";
import { askOperator } from "./resource/change.ts";
import {
	createdOption,
	createObject,
	displayNameOption,
	dryRunOption,
	fileOption,
	readyOption,
	requireReady,
} from "./resource/creation.ts";
import { defineVerbs } from "./resource/verbs.ts";

/** `tidemill destinations`. */
export function define(destinations: CommandGroup): void {
	defineVerbs(destinations, destinationKind);
	const create = destinations
		.command("create")
		.description(
			`Create a destination: ${anyOf.format(types.map(({ noun }) => noun))}.`,
		)
		.argument("[name]")
		.addOption(displayNameOption);
	for (const { options } of types)
		for (const option of options) create.addOption(option);
	create
		.option(
			"--service-account <name>",
			"the ServiceAccount of the Pods that load",
		)
		.addOption(fileOption)
		.addOption(dryRunOption)
		.addOption(readyOption)
		.addOption(createdOption)
		.addHelpText(
			...examples(
				...types.map(
					({ example }) => `tidemill destinations create lake ${example}`,
				),
			),
		)
		.action(async (name, options, command) => {
			const { file, dryRun, wait, output, ...settings } = options;
			const spec = specOf(settings);
			if (file === undefined && !spec?.type)
				throw new UsageError(
					`pass ${anyOf.format([...types.map(({ main }) => main.long!), "--file"])}`,
				);
			await createObject<Destination>(
				command.optsWithGlobals(),
				destinationKind,
				{ name, spec, file, dryRun, wait, output },
			);
		});
	destinations
		.command("check")
		.description(
			"Check again that Tidemill can write to the destination, and print the result. The exit code is 1 if it can't.",
		)
		.argument("<destination>")
		.addHelpText(...examples("tidemill destinations check lake"))
		.action(async (name, _, command) => {
			const cluster = await chooseCluster(command.optsWithGlobals());
			const checked = await askOperator<Destination>(
				cluster,
				destinationKind,
				name,
				annotation.check,
				(_, { status }, value) => status?.lastCheck?.request === value,
			);
			print(`${requireReady(checked, name).message}\n`);
		});
}

/** The types of warehouse, with the options of each. Only one type's can be used at once. */
const types = [...warehouses].map(([type, { cli, ...definition }]) => {
	const options = cli.options.map(
		([flags, description]) => new Option(flags, description),
	);
	return { type, ...definition, ...cli, options, main: options[0]! };
});
for (const { main } of types)
	main.conflicts(
		types
			.map((other) => other.main)
			.filter((other) => other !== main)
			.map((other) => other.attributeName()),
	);

const anyOf = new Intl.ListFormat("en-GB", { type: "disjunction" });

/** Undefined if no option says anything about it. Throws {@link UsageError}. */
export function specOf(
	values: {
		displayName?: string | undefined;
		serviceAccount?: string | undefined;
	} & CliValues,
): Partial<DestinationSpec> | undefined {
	const { displayName, serviceAccount } = values;
	const isGiven = (option: Option) =>
		values[option.attributeName()] !== undefined;
	for (const { main, options } of types)
		for (const option of options)
			if (isGiven(option) && !isGiven(main))
				throw new UsageError(`${option.long} is only for ${main.long}`);
	const chosen = types.find(({ main }) => isGiven(main));
	const own = chosen?.specOf(values);
	if (typeof own === "string") throw new UsageError(own);
	const spec = {
		...(chosen && { type: chosen.type, [chosen.member]: own }),
		...(displayName && { displayName }),
		...(serviceAccount && { serviceAccountName: serviceAccount }),
	} as Partial<DestinationSpec>;
	return Object.keys(spec).length > 0 ? spec : undefined;
}
