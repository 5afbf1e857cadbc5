/** Like `Promise.all` over a list, with at most `limit` calls at a time. Throws the first error and starts no more calls. */
export async function mapConcurrently<In, Out>(
	list: readonly In[],
	limit: number,
	call: (item: In) => Promise<Out>,
): Promise<Out[]> {
	const results = new Array<Out>(list.length);
	let next = 0;
	let failed = false;
	const work = async () => {
		while (next < list.length && !failed) {
			const index = next++;
			try {
				results[index] = await call(list[index]!);
			} catch (error) {
				failed = true;
				throw error;
			}
		}
	};
	await Promise.all(Array.from({ length: Math.min(limit, list.length) }, work));
	return results;
}
