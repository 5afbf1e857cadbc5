/** What the console's forms of a Destination and of a Pipeline show of one type of warehouse. */
export interface WarehouseForm<Spec extends object = object> {
	/** Behind the type's name in the choice, such as `a dataset`. */
	title: string;
	/** By the path in the type's part of the spec, in the order in which they are shown. The YAML has the rest. */
	fields: Readonly<Record<string, WarehouseFormField>>;
	/** The same of a Pipeline's table, by the path in the type's member of `spec.table`. */
	tableFields?: Readonly<Record<string, WarehouseFormField>>;
	/** Where the warehouse is: what a list shows, joined by `/`. */
	place(spec: Spec): (string | undefined)[];
}

export interface WarehouseFormField {
	label: string;
	/** Absent if the label says it all. */
	help?: string;
	/** Texts are those that may be chosen. Absent for any text. */
	kind?: "number" | "flag" | readonly string[];
}

/** What every field that names a Secret says. */
export const secretHelp =
	'A Secret of this namespace with the label tidemill.dev/use: "true".';

/** The field of certificates of authorities. */
export const authoritiesField: WarehouseFormField = {
	label: "Secret with certificates of authorities",
	help: `${secretHelp} Empty: the public authorities.`,
};
