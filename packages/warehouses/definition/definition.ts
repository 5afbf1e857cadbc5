import type { ErrorRule } from "../../contracts/error-rule.ts";
import type {
	DestinationInput,
	TableColumn,
	ValueLimits,
} from "../../contracts/job.ts";
import type { Binding } from "./binding.ts";

/**
 * What everybody but load knows about one type of warehouse: operator, api and CLI. It does no I/O and imports no library
 * of the warehouse.
 * @typeParam Spec The type's own part of a Destination's spec, as its crd.yaml defines it.
 */
export interface WarehouseDefinition<Spec extends object = object> {
	/** The member of a Destination's spec that its crd.yaml defines. Options of its tables are the same member of `spec.table`. */
	member: string;
	/** For people, such as `a DuckDB file`. */
	noun: string;

	/** What a field means that is absent, where the Job is told or a check takes both for the same. */
	defaults?: Partial<Spec>;
	/** The settings of a Job's input, beside the type; all fields that are no objects, such as references to Secrets, unless this says otherwise. */
	input?(spec: Spec): Record<string, unknown>;
	/** Those of them that must be texts. */
	inputTexts: readonly string[];
	/** Whether load is given the days one by one, with one day on disk at a time, and not all at once. */
	takesDaysOneByOne: boolean;
	/** Whether its load passes over days that an earlier attempt has done, so that no day is downloaded before it asks for it. */
	passesDaysDone?: true;
	/** What its columns hold of the body's values, where that is less than the type has. */
	limits?: ValueLimits;
	/** The most columns with values from bodies that a table can have, if fewer than {@link file://../../contracts/job.ts maxBodyColumns}. */
	mostBodyColumns?: number;
	/** Names that its columns can't have, in lower case. */
	reservedColumns?: readonly string[];
	/** The Secrets that the spec names. Its Jobs get copies of what is checked here. */
	secrets?(spec: Spec): SecretUse[];
	/**
	 * For a warehouse that its Jobs connect to by a host that people write: where the credentials go, and the host's field; or why
	 * there is none.
	 * @param secret A value of the credentials' Secret, by its key.
	 */
	connection?(
		spec: Spec,
		secret: (key: string) => string | undefined,
	): { field: string; target: Binding } | { incomplete: string };
	/** For a warehouse that is a file on a volume: the PersistentVolumeClaim that `volumeClaimName` names. */
	volume?(spec: Spec): { claimName: string | undefined };
	/** Addresses that people may choose, but that get events and credentials, so that an operator's setting must allow each. */
	endpoints?: {
		setting: string;
		/** By field. */
		of(spec: Spec): Record<string, string | undefined>;
		/** What the warehouse has without one, such as `the vendor's own endpoint`. */
		otherwise: string;
	};

	/** Fields that a check verifies in another form than people write, since several forms are the same. */
	verified?(spec: Spec): Partial<Record<keyof Spec, unknown>>;
	/**
	 * What one process at a time may write to: unique among the warehouses of this type in a namespace.
	 * @param reachedPort Of the newest check that succeeded, for a warehouse whose Secret may say the port.
	 */
	writeLock(spec: Spec, table: string, reachedPort?: number): string;
	/** Such a name as locks and stored layouts are compared by, if it tells more. */
	comparedLock?(lock: string): string;
	/** Such a name as the Destinations of one warehouse share it, whichever Secret says where it is. */
	sharedLock?(lock: string): string;

	/** Where queries find the tables, in dbt's words. No `database`: the one that a program connects to. */
	schemaOf(spec: Spec): { database?: string; schema: string };

	/** Why a table can't have these options, with the path of the field; undefined if it can. */
	tableProblem?(options: object, columns: TableColumn[]): string | undefined;
	/** Those of the options that name columns, or say what one is: a table with other columns doesn't get them. */
	optionsOfColumns?: readonly string[];
	/** How often a table may be loaded in a day, each day of its rows counted, if the warehouse limits that. */
	loadsPerTableAndDay?: number;
	/** How often all tables together may be loaded in a day, likewise. */
	loadsPerDay?: number;

	/** Where a row stays for some time that a statement has deleted, in words that follow "in "; undefined if nowhere. */
	deletedRows?: string;

	/** Fields of the REST API that take a secret itself; the API keeps it in a Secret, and the spec refers to that. */
	secretFields?: WarehouseSecretField[];
	/** What a text must be that has to match a pattern of its crd.yaml: "must …". */
	patternWords?: Readonly<Record<string, string>>;
	/** How a person asks its server; absent where there is none. */
	client?(spec: Spec): WarehouseClient;
	/** What stands around a name in its SQL, if not `"`. */
	nameQuote?: string;
	/** Of `tidemill destinations create` and `tidemill init`. */
	cli: {
		/** The option that chooses the type, and the warehouse in one word. */
		flags: string;
		about: string;
		example: string;
		/** The spec by that word, without its credentials. The result is a text if the word is wrong: the reason. */
		specOf(word: string): Partial<Spec> | string;
		/** The word as the address that it is, whose user is that of the credentials; null if it is none. */
		addressOf?(word: string): URL | null;
		/** What people type in `init`, such as `the name of a DuckDB file`, and what such an answer looks like. */
		answer: string;
		answers: RegExp;
		/** The key of a Secret with the credentials, if it is one for all of them. */
		secretKey?: string;
	};
	/** Of the console. */
	form: WarehouseForm<Spec>;
	/** The failures of its Jobs, beside those of all Jobs. */
	errors: Readonly<Record<string, ErrorRule>>;
}

/**
 * The server's own client, which a person runs with an account of their own. Whoever may edit the Destination chose its host and
 * names: they are percent-encoded, so that no shell, terminal or client reads more in them.
 */
export interface WarehouseClient {
	/** The command's words, without a secret. A word with the query follows. */
	words: string[];
	/** How that word begins. */
	query: string;
	/** Where it gets the user and the password from, and what else the Destination leaves to the person, for "psql takes …". */
	takes: string;
}

/** What a person typed, for an error: without what stands before an `@`, which may have a password. */
export function quoted(word: string): string {
	return `"${word.replace(/^.*@/s, "…@")}"`;
}

/** A text as a part of an address, in ASCII without any character that means something to a shell (RFC 3986 §2.3). */
export function addressPart(text: string): string {
	return encodeURIComponent(text.toWellFormed()).replace(
		/[!'()*]/g,
		(character) => `%${character.charCodeAt(0).toString(16)}`,
	);
}

/** One value of a Secret, and how a Job gets it. */
export interface SecretUse {
	/** Path of the `secretRef` in the type's part of the spec. */
	field: string;
	name: string;
	key: string;
	/** What the digest of a check calls it. */
	verifiedAs: string;
	/** The file beside the Job's input. */
	file: string;
	/** The variable with that file's path. */
	env: string;
	/** Whether it is no mistake if the Secret lacks the key. */
	isOptional?: boolean;
	/** Words that follow `Key "x" of Secret "y" `, if the value can't be right. */
	problemOf(value: string): string | undefined;
}

export interface WarehouseSecretField {
	/** Where it stands in the type's part of the spec. */
	at: string[];
	inline: string;
	ref: "secretRef";
	description: string;
	problemOf(value: string): string | undefined;
	/** A field that is given with it, and goes into the same Secret. The reference is to the Secret as a whole. */
	beside?: { inline: string; description: string };
	/** Fields of the type's part of the spec that say where the secret goes. */
	address?: readonly string[];
	/** Those that it needs beside it. */
	needs?: readonly string[];
}

/** What a Job needs to reach a warehouse. */
export interface WarehouseAccess {
	input: DestinationInput;
	volume?: WarehouseVolume;
	secretFiles?: SecretFile[];
	serviceAccountName?: string;
}

export type WarehouseVolume =
	| { volumeClaimName: string }
	/** A directory of the node. Local mode only, where the node is this machine. */
	| { hostPath: string };

/** A copy of a Secret's value, so that the Pod gets what was verified, whatever happens to the account's Secret. */
export interface SecretFile {
	file: string;
	env: string;
	/** In base64. A secret. */
	content: string;
}

/** The certificates of authorities that a server's may be signed by, as a file of the Job; none if the Destination names none. */
export function authoritiesOf(
	secretRef: { name: string; key?: string } | undefined,
	{ file, env }: Pick<SecretUse, "file" | "env">,
): SecretUse[] {
	if (!secretRef) return [];
	const { name, key = "ca.crt" } = secretRef;
	return [
		{
			field: "caSecretRef",
			name,
			key,
			verifiedAs: "authorities",
			file,
			env,
			problemOf: (value) =>
				value.includes("-----BEGIN CERTIFICATE-----")
					? undefined
					: "has no certificate in PEM.",
		},
	];
}

/** The Secret with a target's authorities, unless it is that of the credentials: who wrote those chose these, too. */
export function caOf({
	caSecretRef,
	credentials,
}: {
	caSecretRef?: { name: string };
	credentials: { secretRef: { name: string } };
}): Pick<Binding, "ca"> {
	return caSecretRef && caSecretRef.name !== credentials.secretRef.name
		? { ca: caSecretRef.name }
		: {};
}

/** The user's password and name, which the REST API keeps in a Secret that is bound to the address. */
export function userFields(
	fields: Required<Pick<WarehouseSecretField, "address" | "needs">>,
): WarehouseSecretField[] {
	return [
		{
			at: ["credentials"],
			inline: "password",
			ref: "secretRef",
			description:
				"The user's password, instead of `secretRef`. The API keeps it in a Secret that is bound to the address of this request, and never returns it.",
			beside: {
				inline: "username",
				description: "The user's name, beside `password`.",
			},
			...fields,
			problemOf: (value) =>
				/\p{Cc}/u.test(value) ? "must have no control characters" : undefined,
		},
	];
}

/** One line of text, such as a user's name or password, as a file of the Job. */
export function lineOf(
	name: string,
	key: string,
	{
		problemOf,
		...rest
	}: Pick<SecretUse, "file" | "env" | "isOptional"> &
		Partial<Pick<SecretUse, "problemOf">>,
): SecretUse {
	return {
		field: "credentials.secretRef",
		name,
		key,
		verifiedAs: key,
		...rest,
		problemOf: (value) => lineProblem(value) ?? problemOf?.(value),
	};
}

/**
 * Words that follow a text's name, if it isn't one line. It enters messages of protocols, whose lines and ends other servers would
 * read otherwise: it may be another's address that it goes to.
 */
export function lineProblem(text: string): string | undefined {
	return /\p{Cc}/u.test(text)
		? "has a control character, such as a line end, which is no part of it. Write it without one, as `kubectl create secret` does."
		: undefined;
}

/** What the console's forms of a Destination and of a Pipeline show of one type of warehouse. */
export interface WarehouseForm<Spec extends object = object> {
	/** Behind the type's name in the choice, such as `a dataset`. */
	title: string;
	/** By the path in the type's part of the spec, in the order in which they are shown. The YAML has the rest. */
	fields: Readonly<Record<string, FieldHint>>;
	/** The same of a Pipeline's table, by the path in the type's member of `spec.table`. */
	tableFields?: Readonly<Record<string, FieldHint>>;
	/** Where the warehouse is: what a list shows, joined by `/`. */
	place(spec: Spec): (string | undefined)[];
}

/** What a person needs of a field beside its schema. */
export interface FieldHint {
	label: string;
	/** Absent if the label says it all. */
	help?: string | undefined;
	/** What each value means, where its name doesn't say it. */
	choices?: Readonly<Record<string, string>>;
	/** A flag that is on or absent. */
	isTick?: true;
	/** A time of day. */
	isTime?: true;
}

/** What every field that names a Secret says. */
export const secretHelp =
	'A Secret of this namespace with the label tidemill.dev/use: "true".';

/** The field of certificates of authorities. */
export const authoritiesField: FieldHint = {
	label: "Secret with certificates of authorities",
	help: `${secretHelp} Empty: the public authorities.`,
};

/** What the columns of `spec.table.columns` are called in the table. */
export const columnNames = {
	EventID: "event_id",
	Timestamp: "timestamp",
	Body: "body",
	Date: "date",
	Violations: "violations",
	LoadedAt: "loaded_at",
	Run: "run",
} as const;

/**
 * What a column of a table holds, in a sentence for people who query it.
 * @param named How what strangers name stands where the sentence goes.
 */
export function columnWords(
	{ from }: TableColumn,
	named = (text: string) => text,
): string {
	if (typeof from !== "object") return words[from];
	if (!("bodyPointer" in from))
		return from.header.startsWith("?")
			? `The query parameter ${named(from.header.slice(1))} of the request.`
			: `The header ${named(from.header)} of the request.`;
	if ("isRest" in from)
		return "What the other columns don't hold of the body, as JSON text. NULL if that is nothing.";
	const { bodyPointer, type } = from;
	return `${named(bodyPointer)} of the body, as ${type}. NULL if it is missing or doesn't fit.`;
}

const words = {
	EventID: "The event's id, unique in the table.",
	Timestamp: "When Tidemill received the event.",
	Body: "The body as the sender sent it; a form as a JSON object.",
	Date: "The UTC date of the timestamp. Filter by it: days are loaded as a whole.",
	Violations:
		"What the tracking plan found, as JSON text. NULL for an event that is as planned.",
	LoadedAt: "When the load that wrote the row began.",
	Run: "The Run that wrote the row.",
} as const satisfies Record<Extract<TableColumn["from"], string>, string>;

/** The same for a table of rejected values, by its columns. */
export const rejectedColumns = {
	event_id: "The event's id. An event has a row for each of its values.",
	date: "The UTC date of the event. Filter by it: days are loaded as a whole.",
	column_name: "The column that couldn't hold the value.",
	value:
		"The value as JSON text, as it was sent. The end of a longer one than 1,024 bytes is cut off.",
	reason: "Why the column couldn't hold it.",
} as const;
