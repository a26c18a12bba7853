// Package release publishes the data of an archive and reads published data. An archive and a
// release have the same layout; see package archive. A release leaves out the files of sources that
// may not be redistributed.
//
//   - Exporter adds to each sealed day what the service decided: outcomes, settled predictions, the
//     ledger, reference rows, boards, agents, and the rules they depend on.
//   - Catalogue lists days and files for GET /api/data and opens the published ones.
//   - OpenURL reads another installation's release as an archive.Storage.
//   - Verify checks the files, the chain and the texts.
//   - Recompute rebuilds the latest boards from the published files alone and compares them.
package release
