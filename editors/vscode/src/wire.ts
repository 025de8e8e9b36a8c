// The types of the wire, as they are generated from the server's own (`server/protocol`). Never adds one by hand.
export type * from '../../../docs/protocol/protocol';
