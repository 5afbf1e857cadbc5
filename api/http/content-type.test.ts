import { expect, test } from "vitest";
import { accepts } from "./content-type.ts";

test.each([
	undefined,
	"",
	"*/*",
	"application/json",
	"Application/*;q=0.1",
	"text/html, application/json;charset=utf-8;q=0.5",
	"application/json, */*;q=0",
])("Accept: %s allows JSON", (accept) => {
	expect(accepts(accept, "application/json")).toBe(true);
});

test.each([
	"text/html",
	"application/json;q=0",
	"application/json;q=0, */*",
	"text/*",
	"text/html, */*;q=0",
])("Accept: %s allows no JSON", (accept) => {
	expect(accepts(accept, "application/json")).toBe(false);
});
