import { expect, test } from "vitest";
import { schemaValidators } from "../../test/support/fixtures/control-plane/openapi-answers.ts";
import { endpoints } from "../endpoints.ts";
import { answerExamples } from "./answer-examples.ts";
import { openApiDocument } from "./openapi.ts";

const document = openApiDocument(endpoints);
const answers = new Set(
	endpoints.flatMap(({ answers }) =>
		Object.values(answers).flatMap(({ schema }) => (schema ? [schema] : [])),
	),
);

test.each([...answers])(
	"the example of the answer %s is as its schema says",
	(name) => {
		const validate = schemaValidators(document)(name);
		const example = answerExamples(document.components.schemas)(name);
		expect(validate(example) ? [] : validate.errors).toEqual([]);
		expect(JSON.stringify(example)).not.toContain('"…"');
	},
);
