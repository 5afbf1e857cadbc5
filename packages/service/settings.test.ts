import { expect, test } from "vitest";
import { SettingError, Settings } from "./settings.ts";

test("a missing setting is named", () => {
	expect(() => new Settings({}).text("NATS_URL")).toThrow(
		new SettingError("NATS_URL is not set. Set it and restart."),
	);
});

test("an empty setting counts as unset", () => {
	expect(new Settings({ PORT: "" }).text("PORT", "1")).toBe("1");
});

test.each(["x", "0", "65536", "1.5", " "])(
	"a port of %j is refused with the allowed range",
	(port) => {
		expect(() =>
			new Settings({ PORT: port }).integer("PORT", [1, 65535]),
		).toThrow("must be a whole number from 1 to 65535");
	},
);

test("a URL loses its trailing slash", () => {
	expect(new Settings({ URL: "http://h:1/x/" }).url("URL")).toBe(
		"http://h:1/x",
	);
	for (const URL of ["h", "h:1", "ftp://h", "https:h"])
		expect(() => new Settings({ URL }).url("URL")).toThrow("URL of HTTP");
});
