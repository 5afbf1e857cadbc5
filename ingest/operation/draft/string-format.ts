/**
 * Formats that a draft proposes, each by a form that every validator accepts: what is left out here, such as an address with
 * quotes, is at worst a property without a format.
 */
const forms: Record<string, RegExp> = {
	"date-time":
		/^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d{1,9})?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/,
	date: /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])$/,
	uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/,
	email: /^[a-z0-9._-]*[a-z0-9]@([a-z0-9]+(-[a-z0-9]+)*\.)+[a-z]{2,}$/i,
	uri: /^https?:\/\/([a-z0-9]+(-[a-z0-9]+)*\.)*[a-z0-9]+(-[a-z0-9]+)*(:\d{1,5})?(\/[A-Za-z0-9._~/-]*)?(\?[A-Za-z0-9._~=&-]*)?$/,
	ipv4: /^((25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(25[0-5]|2[0-4]\d|1?\d?\d)$/,
};

/** The 29th to 31st aren't in every month, but say nothing against a date. */
const lateDay = /^(\d{4}-\d\d)-(29|30|31)(?=$|T)/;

const longest = 500;

/** The format that a string has for sure; undefined if none. */
export function formatOf(text: string): string | undefined {
	if (text.length === 0 || text.length > longest) return undefined;
	const early = isDay(text) ? text.replace(lateDay, "$1-28") : text;
	return Object.keys(forms).find((format) => forms[format]!.test(early));
}

/** Whether the date that it begins with exists. */
function isDay(text: string): boolean {
	const [day] = /^\d{4}-\d\d-\d\d/.exec(text) ?? [];
	if (day === undefined) return false;
	const time = new Date(`${day}T00:00:00Z`);
	return !Number.isNaN(time.getTime()) && time.toISOString().startsWith(day);
}
