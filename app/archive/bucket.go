package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// Bucket is an archive in a bucket of an S3-compatible store.
type Bucket struct {
	client         *minio.Client
	bucket, prefix string // prefix ends with a slash or is empty
}

// amazon is the default endpoint. AWS_ENDPOINT_URL replaces it.
const amazon = "https://s3.amazonaws.com"

// openBucket reads the standard variables AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID and
// AWS_SECRET_ACCESS_KEY. Without keys it uses the role of the machine, as Amazon's tools do.
func openBucket(bucket, prefix string) (*Bucket, error) {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if endpoint == "" {
		endpoint = amazon
	}
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errors.New("AWS_ENDPOINT_URL: must be an http(s) address")
	}
	client, err := minio.New(u.Host, &minio.Options{
		Creds:      credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{}, &credentials.IAM{}}),
		Secure:     u.Scheme == "https",
		Region:     os.Getenv("AWS_REGION"),
		MaxRetries: 3,
	})
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", bucket, err)
	}
	if prefix != "" {
		prefix += "/"
	}
	return &Bucket{client, bucket, prefix}, nil
}

// Open implements Storage.
func (b *Bucket) Open(ctx context.Context, name string) (Object, error) {
	info, err := b.client.StatObject(ctx, b.bucket, b.prefix+name, minio.StatObjectOptions{})
	if err != nil {
		return nil, bucketError(err)
	}
	return &bucketObject{ctx: ctx, bucket: b, name: b.prefix + name, size: info.Size, etag: info.ETag}, nil
}

// List implements Storage.
func (b *Bucket) List(ctx context.Context, prefix string) ([]Info, error) {
	var list []Info
	for o := range b.client.ListObjects(ctx, b.bucket, minio.ListObjectsOptions{Prefix: b.prefix + prefix, Recursive: true}) {
		if o.Err != nil {
			return nil, bucketError(o.Err)
		}
		list = append(list, Info{Name: strings.TrimPrefix(o.Key, b.prefix), Size: o.Size, Modified: o.LastModified})
	}
	return list, nil
}

// Put implements Writable.
func (b *Bucket) Put(ctx context.Context, name string, content io.Reader, size int64) error {
	return b.put(ctx, name, content, size, minio.PutObjectOptions{})
}

// PutNew implements Writable.
func (b *Bucket) PutNew(ctx context.Context, name string, content io.Reader, size int64) error {
	o := minio.PutObjectOptions{}
	o.SetMatchETagExcept("*")
	return b.put(ctx, name, content, size, o)
}

func (b *Bucket) put(ctx context.Context, name string, content io.Reader, size int64, o minio.PutObjectOptions) error {
	o.ContentType = "application/octet-stream"
	_, err := b.client.PutObject(ctx, b.bucket, b.prefix+name, content, size, o)
	return bucketError(err)
}

// Delete implements Writable.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	err := bucketError(b.client.RemoveObject(ctx, b.bucket, b.prefix+name, minio.RemoveObjectOptions{}))
	if errors.Is(err, ErrNotExist) {
		return nil
	}
	return err
}

// bucketError translates an error of the store into the errors that Storage documents.
func bucketError(err error) error {
	if err == nil {
		return nil
	}
	answer := minio.ToErrorResponse(err)
	switch {
	case answer.Code == "NoSuchBucket":
		return fmt.Errorf("the bucket doesn't exist: %v", err) //nolint:errorlint // must not match ErrNotExist
	case answer.Code == "NoSuchKey" || answer.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%w: %w", ErrNotExist, err)
	case answer.StatusCode == http.StatusPreconditionFailed:
		return fmt.Errorf("%w: %w", ErrExist, err)
	}
	return err
}

// bucketBlock is how many bytes of an object one request reads.
const bucketBlock = 1 << 20

// bucketObject reads an object in blocks and keeps the last block in memory, because Parquet
// readers read a few bytes at a time.
type bucketObject struct {
	ctx        context.Context // the context of Open, since ReadAt takes none
	bucket     *Bucket
	name, etag string
	size       int64

	mu    sync.Mutex
	at    int64
	block []byte
}

func (o *bucketObject) Size() int64     { return o.size }
func (o *bucketObject) Version() string { return o.etag }
func (o *bucketObject) Close() error    { return nil }

// ReadAt implements io.ReaderAt.
func (o *bucketObject) ReadAt(p []byte, at int64) (n int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for n < len(p) {
		if at >= o.size {
			return n, io.EOF
		}
		if at < o.at || at >= o.at+int64(len(o.block)) {
			if err := o.fetch(at); err != nil {
				return n, err
			}
		}
		copied := copy(p[n:], o.block[at-o.at:])
		n, at = n+copied, at+int64(copied)
	}
	return n, nil
}

// fetch reads the block that starts at an offset.
func (o *bucketObject) fetch(at int64) (err error) {
	var options minio.GetObjectOptions
	end := min(at+bucketBlock, o.size)
	if err := errors.Join(options.SetRange(at, end-1), options.SetMatchETag(o.etag)); err != nil {
		return err
	}
	body, _, _, err := (&minio.Core{Client: o.bucket.client}).GetObject(o.ctx, o.bucket.bucket, o.name, options)
	if err != nil {
		return bucketError(err)
	}
	defer func() { err = errors.Join(err, body.Close()) }()
	block := make([]byte, end-at)
	if _, err := io.ReadFull(body, block); err != nil {
		return err
	}
	o.at, o.block = at, block
	return nil
}
