/* Fields of a body, each by its description: most schemas of the OpenAPI document are made of these. */

export const text = (description: string) => ({ description, type: "string" });

export const integer = (description: string) => ({
	description,
	type: "integer",
});

export const flag = (description: string) => ({ description, type: "boolean" });

export const time = (description: string) => ({
	description,
	type: "string",
	format: "date-time",
});
