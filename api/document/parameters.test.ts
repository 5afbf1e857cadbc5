import { expect, test } from "vitest";
import { endpoints } from "../endpoints.ts";
import { parameters, parametersOf } from "./parameters.ts";

interface Parameter {
	name: string;
	in: string;
}

// openapi-generator refuses a document with one.
test.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))(
	"%s has no parameter twice",
	(_, endpoint) => {
		const named = parametersOf(endpoint).map((parameter) => {
			const { $ref } = parameter as { $ref?: keyof typeof parameters };
			const name = $ref?.split("/").at(-1) as keyof typeof parameters;
			const found = $ref ? parameters[name] : parameter;
			// The account is said by the document itself.
			const { in: place, name: own } = (found ?? { name }) as Parameter;
			return `${place} ${own}`;
		});
		expect(named).toEqual([...new Set(named)]);
	},
);
