/** Somebody has changed the table since it was read. Nothing was written; load the days as a whole. */
export class TableChanged extends Error {
	override name = "TableChanged";

	constructor(table: string) {
		super(`Table ${table} isn't what it was when the load began`);
	}
}
