//===- mail.cpp - Letters between the processes of a cluster --------------===//
//
// Part of dist-mlir, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "runtime/parameter_server/mail.h"
#include <algorithm>

namespace dist::ps {

class Mail::Hearer : public Transport::Receiver {
public:
  explicit Hearer(Mail &mail) : mail(mail) {}
  void arrived(const Transport::Arrival &arrival) override;
  void lost(int rank, const std::string &why) override { mail.lose(rank, why); }

private:
  Mail &mail;
};

void Mail::Hearer::arrived(const Transport::Arrival &arrival) {
  const MessageHeader &header = arrival.header;
  if (mail.peers[arrival.from].isLost) {
    mail.transport->drop(arrival);
    return;
  }
  if (header.type != MessageType::Data || header.channel < 1 ||
      header.channel > int64_t(Kind::Last) || arrival.bytes > mail.largest) {
    mail.transport->drop(arrival);
    mail.lose(arrival.from, "it sent what is no letter");
    return;
  }
  Receiving &receiving = mail.incoming.emplace_back();
  Letter &letter = receiving.letter;
  letter.from = arrival.from;
  letter.kind = Kind(header.channel);
  letter.question = header.turn.number;
  letter.closure = header.count;
  letter.settled = int64_t(header.digest);
  letter.bytes.resize(arrival.bytes);
  mail.transport->fetch(arrival, letter.bytes.data(), &receiving.request);
}

Mail::Mail(std::unique_ptr<Transport> transport, size_t largest)
    : peers(transport->ranks()), largest(largest),
      transport(std::move(transport)) {}

Mail::~Mail() { transport->cancelAll(); }

void Mail::lose(int rank, const std::string &why) {
  if (peers[rank].isLost)
    return;
  peers[rank].isLost = true;
  peers[rank].why = why;
  losses.push_back(rank);
}

Status Mail::admit(const std::string &address) {
  DIST_RETURN_IF_ERROR(transport->admit(address));
  peers.resize(transport->ranks());
  return Status();
}

void Mail::drop(int rank, const std::string &why) { lose(rank, why); }

void Mail::send(int to, Letter letter) {
  auto bytes = std::make_shared<const Buffer>(std::move(letter.bytes));
  send(to, letter, std::move(bytes));
}

void Mail::send(int to, const Letter &letter,
                std::shared_ptr<const Buffer> bytes) {
  if (peers[to].isLost)
    return;
  MessageHeader header{};
  header.type = MessageType::Data;
  header.isSend = 1;
  header.channel = int64_t(letter.kind);
  header.turn.number = letter.question;
  header.count = letter.closure;
  header.digest = uint64_t(letter.settled);
  ++sent.messages;
  sent.bytes += int64_t(bytes->size());
  Sending &sending = outgoing.emplace_back();
  sending.to = to;
  sending.bytes = std::move(bytes);
  transport->send(to, header, sending.bytes->data(), sending.bytes->size(),
                  &sending.request);
  // A failure is told as the peer's loss.
  if (sending.request.state != Transport::Request::Pending)
    outgoing.pop_back();
}

void Mail::collect() {
  for (auto it = outgoing.begin(); it != outgoing.end();)
    it = it->request.state == Transport::Request::Pending ? std::next(it)
                                                          : outgoing.erase(it);
  for (auto it = incoming.begin(); it != incoming.end();) {
    if (it->request.state == Transport::Request::Pending) {
      ++it;
      continue;
    }
    if (it->request.state == Transport::Request::Done)
      letters.push_back(std::move(it->letter));
    it = incoming.erase(it);
  }
}

void Mail::look() {
  if (!watch || now() < nextLook)
    return;
  for (auto &[rank, why] : watch())
    if (rank < ranks())
      lose(rank, why);
  nextLook = now() + kWatch;
}

Mail::Event Mail::wait(Clock::time_point until, Letter *letter) {
  Hearer hearer(*this);
  while (true) {
    collect();
    look();
    // What a peer has sent comes before its loss.
    if (!letters.empty()) {
      *letter = std::move(letters.front());
      letters.pop_front();
      return Event::Letter;
    }
    if (!losses.empty()) {
      *letter = Letter();
      letter->from = losses.front();
      losses.pop_front();
      return Event::Lost;
    }
    if (transport->progress(hearer))
      continue;
    if (now() >= until)
      return Event::Nothing;
    transport->sleepUntil(watch ? std::min(until, nextLook) : until);
  }
}

void Mail::flush(Clock::time_point until) {
  Hearer hearer(*this);
  // Who is lost may take nothing for ever.
  auto isAwaited = [&](const Sending &one) { return !peers[one.to].isLost; };
  for (collect(); std::any_of(outgoing.begin(), outgoing.end(), isAwaited) &&
                  now() < until;
       collect())
    if (!transport->progress(hearer))
      transport->sleepUntil(until);
}

} // namespace dist::ps
