#include "text/jinja/globals.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "text/jinja/error.h"
#include "text/jinja/runtime.h"
#include "text/jinja/text.h"
#include "text/jinja/value.h"

namespace godwit::jinja {
namespace {

Result<Value> raise_exception(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  return error(ErrorType::kTemplateError,
               TRY(to_text(runtime.budget, *arguments.find(0, "message"))));
}

bool is_leap(int year) {
  return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

std::tm broken_down(const LocalTime& now) {
  constexpr std::array<int, 12> kDaysBefore = {0,   31,  59,  90,  120, 151,
                                               181, 212, 243, 273, 304, 334};
  std::tm time = {};
  time.tm_year = now.year - 1900;
  time.tm_mon = std::clamp(now.month, 1, 12) - 1;
  time.tm_mday = now.day;
  time.tm_hour = now.hour;
  time.tm_min = now.minute;
  time.tm_sec = now.second;
  const bool after_leap_day = time.tm_mon > 1 && is_leap(now.year);
  time.tm_yday =
      kDaysBefore[static_cast<std::size_t>(time.tm_mon)] + now.day - 1 + (after_leap_day ? 1 : 0);
  // Days since a Monday, the first of January of year 1.
  const int years = now.year - 1;
  const int days = years * 365 + years / 4 - years / 100 + years / 400 + time.tm_yday;
  time.tm_wday = ((days + 1) % 7 + 7) % 7;
  return time;
}

/// Formats one directive, "%d" or "%-d"; a naive time has no zone and, here, no microseconds.
std::string format_directive(const std::string& directive, const std::tm& time) {
  const char kind = directive.back();
  if (kind == 'z' || kind == 'Z') {
    return {};
  }
  if (kind == 'f') {
    return "000000";
  }
  std::array<char, 128> buffer;
  const std::size_t size = std::strftime(buffer.data(), buffer.size(), directive.c_str(), &time);
  return {buffer.data(), size};
}

Result<Value> strftime_now(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  constexpr std::size_t kMaxPattern = 1024;
  const std::string pattern = TRY(string_argument(arguments, 0, "format", ""));
  if (pattern.size() > kMaxPattern) {
    return error(ErrorType::kLimitError, "the format of strftime_now is longer than 1024 bytes");
  }
  const std::tm time = broken_down(runtime.now);
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      out += pattern[i];
      continue;
    }
    std::string directive = "%";
    while (i + 1 < pattern.size() && directive.size() < 3) {
      directive += pattern[++i];
      if (std::string_view("-_0^#").find(directive.back()) == std::string_view::npos) {
        break;
      }
    }
    out += directive.size() == 1 ? directive : format_directive(directive, time);
  }
  return Value(std::move(out));
}

Result<Value> range(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  Range range;
  if (arguments.positional.size() == 1) {
    range.stop = TRY(integer_argument(arguments, 0, "stop", 0));
  } else {
    range.start = TRY(integer_argument(arguments, 0, "start", 0));
    range.stop = TRY(integer_argument(arguments, 1, "stop", 0));
    range.step = TRY(integer_argument(arguments, 2, "step", 1));
  }
  if (range.step == 0) {
    return value_error("range() arg 3 must not be zero");
  }
  const std::int64_t most = runtime.budget.limits().max_range;
  if (range.size() > most) {
    return error(ErrorType::kOverflowError,
                 "Range too big. The sandbox blocks ranges larger than MAX_RANGE (" +
                     std::to_string(most) + ").");
  }
  return Value(range);
}

/// The members of dict(...) and namespace(...): of a dict or of pairs, then of the named arguments.
Result<std::vector<Member>> members_of(Runtime& runtime, const Arguments& arguments) {
  std::vector<Member> members;
  if (arguments.positional.size() > 1) {
    return type_error("dict expected at most 1 argument, got " +
                      std::to_string(arguments.positional.size()));
  }
  if (!arguments.positional.empty()) {
    const Value& source = arguments.positional.front();
    if (source.is(Kind::kDict)) {
      members = source.as_dict()->members;
      TRY(runtime.budget.charge_items(static_cast<std::int64_t>(members.size())));
    } else {
      for (const Value& item : TRY(iterate(runtime.budget, source))) {
        const std::vector<Value> pair = TRY(iterate(runtime.budget, item));
        if (pair.size() != 2) {
          return value_error("dictionary update sequence element has length " +
                             std::to_string(pair.size()) + "; 2 is required");
        }
        members.emplace_back(pair[0], pair[1]);
      }
    }
  }
  for (const auto& [name, value] : arguments.named) {
    members.emplace_back(Value(name), value);
  }
  return members;
}

Result<Value> make_dictionary(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  return make_dict(runtime.budget, TRY(members_of(runtime, arguments)));
}

Result<Value> make_namespace(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  auto space = std::make_shared<Namespace>();
  runtime.namespaces.push_back(space);
  for (const Member& member : TRY(members_of(runtime, arguments))) {
    TRY(runtime.budget.charge_items(static_cast<std::int64_t>(space->attributes.size())));
    space->set(TRY(to_text(runtime.budget, member.first)), member.second);
  }
  return Value(std::move(space));
}

Result<Value> make_cycler(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  if (arguments.positional.empty()) {
    return error(ErrorType::kTemplateRuntimeError, "at least one item has to be provided");
  }
  Cycler cycler{arguments.positional, 0, 1};
  for (const Value& item : cycler.items) {
    cycler.depth = std::max(cycler.depth, item.depth() + 1);
  }
  TRY(runtime.budget.check_value_depth(cycler.depth));
  return Value(std::make_shared<Cycler>(std::move(cycler)));
}

Result<Value> make_joiner(Runtime& runtime, const Value& /*self*/, const Arguments& arguments) {
  const Value* separator = arguments.find(0, "sep");
  auto joiner = std::make_shared<Joiner>();
  joiner->separator = separator == nullptr ? Value(std::string_view(", ")) : *separator;
  TRY(runtime.budget.check_value_depth(joiner->separator.depth() + 1));
  return Value(std::move(joiner));
}

constexpr std::array<Function, 7> kGlobals = {{
    {"cycler", make_cycler, "*", 0},
    {"dict", make_dictionary, "*", 0},
    {"joiner", make_joiner, "sep", 0},
    {"namespace", make_namespace, "*", 0},
    {"raise_exception", raise_exception, "message", 1},
    {"range", range, "start stop step", 1},
    {"strftime_now", strftime_now, "format", 1},
}};

}  // namespace

const Function* find_global(std::string_view name) {
  for (const Function& function : kGlobals) {
    if (function.name == name) {
      return &function;
    }
  }
  return nullptr;
}

}  // namespace godwit::jinja
