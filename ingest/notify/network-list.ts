import { BlockList } from "node:net";
import { addNetwork } from "./public-address.ts";

/** A list of networks, such as ["10.0.0.0/8"]. Throws if one isn't. */
export function networkList(networks: string[]): BlockList {
	const list = new BlockList();
	for (const network of networks) addNetwork(list, network);
	return list;
}
