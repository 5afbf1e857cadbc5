import { expect, test } from "vitest";
import { withParts } from "./crds.ts";

const base = `spec:
  properties:
    # From parts/pod.yaml: edit that, then "npm run generate".
    old: 1
    # End of parts/pod.yaml.
    retries: 1
    # From parts/*.yaml: edit that, then "npm run generate".
    # End of parts/*.yaml.
`;

test("a CRD gets each part between the comments that name it, as far in as the comments", () => {
	const whole = withParts(base, (pattern) => `${pattern}:\n  a: 1\n\n  b: 2\n`);
	expect(whole).toBe(`spec:
  properties:
    # From parts/pod.yaml: edit that, then "npm run generate".
    parts/pod.yaml:
      a: 1

      b: 2
    # End of parts/pod.yaml.
    retries: 1
    # From parts/*.yaml: edit that, then "npm run generate".
    parts/*.yaml:
      a: 1

      b: 2
    # End of parts/*.yaml.
`);
	expect(withParts(whole, (pattern) => `${pattern}:\n  a: 1\n\n  b: 2\n`)).toBe(
		whole,
	);
});

test("a page gets each part between the comments that name it", () => {
	const page = `One.

<!-- From a/*.ts(rows): edit that, then "npm run generate". -->
old
<!-- End of a/*.ts(rows). -->

Two.
`;
	expect(withParts(page, (name) => `\n| ${name} |\n\n`)).toBe(
		page.replace("old\n", "\n| a/*.ts(rows) |\n\n"),
	);
});

test("a part that has no end is refused", () => {
	const open = '# From a.yaml: edit that, then "npm run generate".\nkept: 1\n';
	expect(() => withParts(open, () => "")).toThrow('"# End of a.yaml."');
});
