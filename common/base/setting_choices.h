/*
 * base/setting_choices.h - the choices of settings that have a fixed set
 *
 * A setting's value is the index of the word in its list. Lists end with NULL.
 */

#ifndef BASE_SETTING_CHOICES_H
#define BASE_SETTING_CHOICES_H

extern const char *const setting_choices_log_levels[];
extern const char *const setting_choices_log_formats[];
extern const char *const setting_choices_codecs[];
extern const char *const setting_choices_wire_dtypes[];
extern const char *const setting_choices_checks[];
extern const char *const setting_choices_remedies[];
extern const char *const setting_choices_switches[];
extern const char *const setting_choices_flags[];
extern const char *const setting_choices_transports[];
extern const char *const setting_choices_attaching[];
extern const char *const setting_choices_streams[];
extern const char *const setting_choices_spins[];
extern const char *const setting_choices_durabilities[];

#endif
