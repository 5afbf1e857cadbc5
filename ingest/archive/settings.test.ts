import { expect, test } from "vitest";
import { createLog } from "../../packages/service/log.ts";
import { Settings } from "../../packages/service/settings.ts";
import { readArchiveSettings } from "./settings.ts";

function prefixOf(text?: string): string | undefined {
	const bucket = { S3_BUCKET: "b", AWS_REGION: "eu-central-1" };
	const prefix = text === undefined ? {} : { S3_PREFIX: text };
	return readArchiveSettings(
		new Settings({ ...bucket, ...prefix }),
		createLog("test"),
	).store.prefix;
}

test("archive keeps its objects in a folder, so that it expires nobody else's in a shared bucket", () => {
	expect(prefixOf()).toBe("tidemill");
	expect(prefixOf("")).toBe("tidemill");
	expect(prefixOf("/events/of shop/")).toBe("events/of shop");
	for (const none of ["/", "//"])
		expect(() => prefixOf(none)).toThrow(`S3_PREFIX is "${none}"`);
});
