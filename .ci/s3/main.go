// Command s3 is versitygw, an S3-compatible server that stores objects in a folder. It has only what tests need, because
// versitygw's own command also contains its tests and other stores, which take longer to compile. Build it with s3.mod:
//
//	go build -modfile=s3.mod -o s3 ./.ci/s3
//	s3 127.0.0.1:9000 FOLDER
//
// Each folder in FOLDER is a bucket. The access key is "tape", the secret "tape-secret", the region us-east-1.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: s3 HOST:PORT FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "s3:", err)
		os.Exit(1)
	}
}

func run(address, folder string) error {
	store, err := posix.New(folder, meta.XattrMeta{}, posix.PosixOpts{NewDirPerm: 0o755, Concurrency: 5000})
	if err != nil {
		return err
	}
	// Connections end after each answer, as with versitygw's own command. Otherwise it takes the body of a refused PUT for
	// the next request.
	return embedgw.RunVersityGW(context.Background(), store, &embedgw.Config{
		RootUserAccess: "tape", RootUserSecret: "tape-secret", Region: "us-east-1", Ports: []string{address},
		MaxConnections: 1000, MaxRequests: 1000, MultipartMaxParts: 10000, Quiet: true,
	})
}
