//===- security_test.cpp - A job's secret and what follows from it --------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/cluster/security/certificates.h"
#include "runtime/cluster/security/given_certificates.h"
#include "runtime/cluster/security/greeting.h"
#include "runtime/cluster/security/job_secret.h"
#include "runtime/cluster/security/keyed.h"
#include "runtime/core/text.h"
#include "test/runtime/folder_test.h"
#include <fstream>
#include <gmock/gmock.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <sys/stat.h>

using namespace dist;
using namespace dist::cluster;
using testing::HasSubstr;

namespace {

JobSecret secretOf(const std::string &text) {
  JobSecret secret;
  Status status = JobSecret::fromText(text, "a test", &secret);
  EXPECT_TRUE(status.ok()) << status.message();
  return secret;
}

X509 *readCertificate(const std::string &pem) {
  BIO *memory = BIO_new_mem_buf(pem.data(), int(pem.size()));
  X509 *read = PEM_read_bio_X509(memory, nullptr, nullptr, nullptr);
  BIO_free(memory);
  return read;
}

/// Whether who trusts one's authority takes the other's certificate.
bool trusts(const TlsCertificates &one, const TlsCertificates &other) {
  X509 *authority = readCertificate(one.authority);
  X509 *shown = readCertificate(other.certificate);
  X509_STORE *trusted = X509_STORE_new();
  X509_STORE_add_cert(trusted, authority);
  X509_STORE_CTX *check = X509_STORE_CTX_new();
  X509_STORE_CTX_init(check, trusted, shown, nullptr);
  bool isTrusted = X509_verify_cert(check) == 1;
  X509_STORE_CTX_free(check);
  X509_STORE_free(trusted);
  X509_free(shown);
  X509_free(authority);
  return isTrusted;
}

using SecretFileTest = FolderTest;

} // namespace

TEST(KeyedTest, CodesAreThoseOfTheStandard) {
  // RFC 4231, test case 2.
  EXPECT_EQ(toHex(authenticate("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_TRUE(areEqual("abc", "abc"));
  EXPECT_FALSE(areEqual("abc", "abd"));
  EXPECT_FALSE(areEqual("abc", "ab"));
}

TEST(KeyedTest, KeysAreOfAPurpose) {
  // By another implementation of RFC 5869, of the same salt.
  EXPECT_EQ(
      toHex(deriveKey("a secret of a job", "a purpose", 40)),
      "777db92a53c9a031b0887f14ad04dc8f2d5f932d152f4d1dd61cac04c4a1b0b89c9"
      "10eb79c4f0a3f");
  EXPECT_NE(deriveKey("a secret of a job", "another", 40),
            deriveKey("a secret of a job", "a purpose", 40));
}

TEST(KeyedTest, RandomBytesDiffer) {
  std::string one, other;
  ASSERT_TRUE(makeRandomBytes(1000, &one).ok());
  ASSERT_TRUE(makeRandomBytes(1000, &other).ok());
  EXPECT_EQ(one.size(), 1000u);
  EXPECT_NE(one, other);
}

TEST(CertificatesTest, WhoHasTheSecretIsTrusted) {
  // Two processes of the job, which have never met.
  TlsCertificates one = makeCertificates(secretOf("0123456789abcdef"));
  TlsCertificates other = makeCertificates(secretOf("0123456789abcdef"));
  TlsCertificates foreign = makeCertificates(secretOf("0123456789abcdeg"));
  EXPECT_TRUE(trusts(one, other));
  EXPECT_TRUE(trusts(other, one));
  EXPECT_FALSE(trusts(one, foreign));
  EXPECT_FALSE(trusts(foreign, one));
  EXPECT_NE(one.key, other.key);
}

/// What the error of certificates says that are not as they should be.
std::string faultOf(const TlsCertificates &given) {
  return checkGiven(given, {"ca.pem", "own.pem", "own.key", ""}).message();
}

TEST(CertificatesTest, AClientIsToldWhichOfItsFilesIsWrong) {
  const TlsCertificates sound = makeCertificates(secretOf("0123456789abcdef"));
  EXPECT_EQ(faultOf(sound), "");
  // A chain, and an authority's alone.
  TlsCertificates given = sound;
  given.certificate += sound.authority;
  EXPECT_EQ(faultOf(given), "");
  EXPECT_EQ(faultOf({sound.authority, "", "", ""}), "");

  given = sound;
  given.authority = sound.key;
  EXPECT_THAT(faultOf(given), HasSubstr("no certificate (ca.pem)"));
  given = sound;
  std::swap(given.certificate, given.key);
  EXPECT_THAT(faultOf(given), HasSubstr("no certificate (own.pem)"));
  given = sound;
  given.certificate.resize(given.certificate.size() / 2);
  EXPECT_THAT(faultOf(given), HasSubstr("no certificate (own.pem)"));
  given = sound;
  given.key = sound.certificate;
  EXPECT_THAT(faultOf(given), HasSubstr("no certificate's key (own.key)"));
  given = sound;
  given.key = makeCertificates(secretOf("0123456789abcdef")).key;
  EXPECT_THAT(faultOf(given), HasSubstr("own.pem was made for another"));
  EXPECT_EQ(ERR_peek_error(), 0u);
}

TEST(GreetingTest, ShowsThatAClientHasTheKey) {
  const std::string one = makeGreeting("a key"), other = makeGreeting("a key");
  EXPECT_NE(one, other);
  EXPECT_TRUE(isGreeting("a key", one));
  EXPECT_FALSE(isGreeting("another key", one));
  EXPECT_FALSE(isGreeting("a key", other.substr(0, 16) + one.substr(16)));
  EXPECT_FALSE(isGreeting("a key", one + "s"));
  for (size_t size = 0; size < one.size(); ++size)
    EXPECT_FALSE(isGreeting("a key", one.substr(0, size))) << size;
  // As long as DNS, and so TLS, has it.
  EXPECT_LE(one.find('.'), 63u);
}

TEST(GreetingTest, IsFoundInAClientHello) {
  auto sized = [](int width, const std::string &bytes) {
    std::string text;
    for (int i = width; i-- > 0;)
      text += char(bytes.size() >> 8 * i);
    return text + bytes;
  };
  const std::string name = makeGreeting("a key");
  const std::string names =
      sized(2, std::string(1, 0) + sized(2, name)); // one, of a host
  const std::string extensions =
      std::string("\0\x17\0\0", 4) + std::string(2, 0) + sized(2, names);
  const std::string body = std::string("\3\3") + std::string(32, 'r') +
                           sized(1, std::string(32, 's')) +
                           sized(2, std::string("\x13\1", 2)) +
                           sized(1, std::string(1, 0)) + sized(2, extensions);
  const std::string hello = "\x16\3\1" + sized(2, "\1" + sized(3, body));
  EXPECT_EQ(findServerName(hello), name);
  // Of what a stranger has cut or changed anything may be found, but no byte
  // behind it is read.
  for (size_t size = 0; size < hello.size(); ++size) {
    EXPECT_LE(findServerName(std::string(hello, 0, size)).size(), size);
    std::string changed = hello;
    changed[size] = char(0xff);
    EXPECT_LE(findServerName(changed).size(), hello.size());
  }
}

TEST_F(SecretFileTest, AFileIsReadThatItsOwnerAloneMay) {
  std::string path = (folder / "secret").string();
  std::ofstream(path) << "  0123456789abcdef\n";
  JobSecret secret;
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  EXPECT_THAT(JobSecret::fromFile(path, &secret).message(),
              HasSubstr("the job's secret is open to others (" + path + ")"));
  ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  Status status = JobSecret::fromFile(path, &secret);
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_EQ(secret.text(), "0123456789abcdef");
  EXPECT_THAT(JobSecret::fromFile(path + "s", &secret).message(),
              HasSubstr("cannot read the job's secret (" + path + "s)"));
  ASSERT_EQ(chmod(folder.c_str(), 0700), 0);
  EXPECT_THAT(JobSecret::fromFile(folder.string(), &secret).message(),
              HasSubstr("cannot read the job's secret"));
}

TEST(JobSecretTest, ItsLengthIsThatOfOneThatCannotBeGuessed) {
  JobSecret secret;
  EXPECT_THAT(JobSecret::fromText("swordfish \n", "HERE", &secret).message(),
              HasSubstr("the job's secret is too short (HERE): it has 9 "
                        "characters, and needs 16 or more"));
  EXPECT_THAT(
      JobSecret::fromText(std::string(5000, 'x'), "HERE", &secret).message(),
      HasSubstr("the job's secret is too long (HERE)"));
  JobSecret other;
  ASSERT_TRUE(JobSecret::makeRandom(&secret).ok());
  ASSERT_TRUE(JobSecret::makeRandom(&other).ok());
  EXPECT_NE(secret.text(), other.text());
  EXPECT_EQ(secretOf(secret.text()).text(), secret.text());
}
